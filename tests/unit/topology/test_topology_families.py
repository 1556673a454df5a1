import networkx
import numpy as np
import pytest

from fmarl.topology import (
    GRAPHS,
    algebraic_connectivity,
    circulant,
    complete,
    from_networkx,
    graph_from_text,
    nearest,
    paper_13,
    paper_13_other,
    paper_16,
    path,
    random_geometric,
    random_regular,
    ring,
    star,
)

ARGUMENTS = {"nearest": "4", "regular": "4", "geometric": "0.6", "best": "9"}


@pytest.mark.parametrize("word", GRAPHS)
def test_every_word_gives_a_connected_graph_of_seven_the_same_each_time(word: str):
    text = f"{word}:{ARGUMENTS[word]}" if word in ARGUMENTS else word

    graph = graph_from_text(text, 7, seed=3)

    assert graph.num_agents == 7
    assert graph.is_connected
    assert graph == graph_from_text(text, 7, seed=3)


@pytest.mark.parametrize("num_agents", [3, 4, 7, 10])
def test_simple_shapes_are_those_of_networkx(num_agents: int):
    assert path(num_agents) == from_networkx(networkx.path_graph(num_agents))
    assert ring(num_agents) == from_networkx(networkx.cycle_graph(num_agents))
    assert star(num_agents) == from_networkx(networkx.star_graph(num_agents - 1))
    assert complete(num_agents) == from_networkx(networkx.complete_graph(num_agents))


@pytest.mark.parametrize("recipe", [path, star, complete])
def test_a_shape_of_one_agent_has_no_edges(recipe):
    assert recipe(1).edges == ()


def test_nearest_links_each_agent_to_both_sides():
    assert nearest(9, 4) == from_networkx(networkx.circulant_graph(9, [1, 2]))
    assert nearest(5, 4) == complete(5)


def test_the_far_side_of_an_even_ring_is_one_edge_not_two():
    assert circulant(6, (1, 3)).degrees.tolist() == [3] * 6


def test_random_regular_graphs_differ_between_seeds_only():
    graphs = {random_regular(10, 3, seed) for seed in range(5)}

    assert len(graphs) > 1
    assert all(set(graph.degrees.tolist()) == {3} for graph in graphs)
    assert random_regular(10, 3, 2) in graphs


def test_a_radius_across_the_square_links_everyone():
    assert random_geometric(6, 1.5, seed=0) == complete(6)


def test_random_geometric_graphs_differ_between_seeds_only():
    assert random_geometric(8, 0.5, seed=1) == random_geometric(8, 0.5, seed=1)
    assert random_geometric(8, 0.5, seed=1) != random_geometric(8, 0.5, seed=2)


def test_graphs_of_the_paper_have_its_algebraic_connectivity_and_links():
    exact = (7 - np.sqrt(17)) / 2

    assert algebraic_connectivity(paper_13()) == pytest.approx(exact, rel=1e-12)
    assert algebraic_connectivity(paper_13_other()) == pytest.approx(exact, rel=1e-12)
    assert round(algebraic_connectivity(paper_16()), 4) == 2.5188
    assert round(algebraic_connectivity(path(5)), 4) == 0.3820
    assert [3000 * graph.num_links for graph in (paper_13(), paper_16())] == [78_000, 96_000]


def test_an_inline_list_and_a_file_are_understood(tmp_path):
    file = tmp_path / "my-graph.txt"
    file.write_text("0 1\n1 2\n2 3\n")

    assert graph_from_text("0-1, 1-2,3-2", 4) == path(4)
    assert graph_from_text(str(file), 4) == path(4)


def test_a_word_comes_before_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring").write_text("0 1\n")

    assert graph_from_text("ring", 5) == ring(5)
