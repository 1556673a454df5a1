import json
from pathlib import Path

import networkx
import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.topology import (
    Graph,
    components,
    from_adjacency,
    from_edges,
    from_networkx,
    path,
    read_graph,
    require_connected,
    ring,
    star,
    to_networkx,
)


def test_edges_in_any_order_make_the_same_graph():
    assert from_edges(4, [(3, 2), (1, 0), (1, 2)]) == path(4)


def test_a_graph_can_be_a_dictionary_key():
    assert {path(3): "path"}[from_edges(3, [(1, 0), (2, 1)])] == "path"


def test_matrices_of_a_star_worked_by_hand():
    graph = star(3)

    np.testing.assert_array_equal(graph.adjacency, [[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(graph.laplacian, [[2, -1, -1], [-1, 1, 0], [-1, 0, 1]])
    np.testing.assert_array_equal(graph.degrees, [2, 1, 1])
    assert (graph.num_edges, graph.num_links) == (2, 4)


def test_one_agent_alone_is_a_connected_graph():
    alone = Graph(num_agents=1, edges=())

    assert alone.is_connected
    assert alone.degrees.tolist() == [0]
    assert alone.laplacian.tolist() == [[0.0]]


def test_parts_of_a_graph_are_found():
    graph = from_edges(5, [(0, 3), (1, 4)])

    assert components(graph) == [(0, 3), (1, 4), (2,)]
    assert not graph.is_connected


def test_components_are_those_of_networkx():
    for seed in range(20):
        other = networkx.gnm_random_graph(12, 10, seed=seed)
        expected = sorted(tuple(sorted(part)) for part in networkx.connected_components(other))
        assert components(from_networkx(other)) == expected


def test_networkx_gets_back_what_it_gave():
    graph = from_edges(5, [(0, 3), (1, 4)])  # agent 2 has no edge and must survive

    assert from_networkx(to_networkx(graph)) == graph


def test_sorted_networkx_nodes_become_agents():
    named = networkx.Graph([("car b", "car a"), ("car b", "car c")])

    assert from_networkx(named).edges == ((0, 1), (1, 2))


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_an_adjacency_gives_back_its_graph(dtype):
    assert from_adjacency(ring(5).adjacency.astype(dtype)) == ring(5)


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n",
        "# a comment\n\n1-0   # both ends\n 2 - 1\n",
        "0,1\r\n1, 2",
        "\ufeff0\t1\n1\t2",
        "[[0, 1], [2, 1]]",
        '{"num_agents": 3, "edges": [[0, 1], [1, 2]]}',
    ],
)
def test_every_form_of_file_is_read(tmp_path: Path, text: str):
    file = tmp_path / "graph.txt"
    file.write_text(text, encoding="utf-8")

    assert read_graph(file) == path(3)
    assert read_graph(str(file), num_agents=3) == path(3)


def test_a_file_may_have_agents_without_edges(tmp_path: Path):
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({"num_agents": 2, "edges": []}))

    assert read_graph(file) == Graph(num_agents=2, edges=())


def test_a_connected_graph_is_required_where_weights_are_made():
    require_connected(from_edges(3, [(0, 1), (1, 2)]))
    with pytest.raises(BadInput, match="2 parts"):
        require_connected(from_edges(3, [(0, 1)]))
