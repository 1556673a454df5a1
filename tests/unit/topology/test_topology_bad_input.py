"""Every bad input is refused in one line that says what is wrong."""

from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.topology import (
    GRAPHS,
    WEIGHTS,
    Graph,
    best_contraction,
    best_graph,
    best_graph_with,
    best_step,
    check_mixing,
    circulant,
    complete,
    connected_graphs,
    constant_weights,
    fdla_weights,
    from_adjacency,
    from_edges,
    from_networkx,
    graph_from_text,
    largest_contracting_step,
    nearest,
    path,
    random_geometric,
    random_regular,
    read_graph,
    require_connected,
    ring,
    star,
)

PARTS = from_edges(5, [(0, 1), (2, 3)])
LOPSIDED = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]])
NEARLY = constant_weights(path(3), 0.3, 2)


def _with(mixing: np.ndarray, place: tuple[int, int, int], value: float) -> np.ndarray:
    changed = mixing.copy()
    changed[place] = value
    return changed


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "no agents": (lambda: from_edges(0, []), "num_agents = 0"),
    "too many agents": (lambda: path(1_001), "num_agents = 1001"),
    "an end beyond the last agent": (lambda: from_edges(3, [(1, 3)]), "edge 1-3"),
    "a negative end": (lambda: from_edges(3, [(-1, 0)]), "edge -1-0"),
    "a self-loop": (lambda: from_edges(3, [(1, 1)]), "its own neighbour"),
    "an edge in both directions": (lambda: from_edges(3, [(0, 1), (1, 0)]), "edge 0-1 twice"),
    "an edge of three ends": (lambda: from_edges(3, [(0, 1, 2)]), "two whole numbers"),
    "edges out of order": (lambda: Graph(num_agents=3, edges=((1, 2), (0, 1))), "from_edges"),
    "an edge backwards": (lambda: Graph(num_agents=3, edges=((1, 0),)), "from_edges"),
    "an edge repeated": (lambda: Graph(num_agents=2, edges=((0, 1), (0, 1))), "0-1 twice"),
    "an adjacency not square": (lambda: from_adjacency(np.zeros((2, 3))), "(2, 3)"),
    "an adjacency of words": (lambda: from_adjacency(np.array([["a"]])), "numbers"),
    "an empty adjacency": (lambda: from_adjacency(np.zeros((0, 0))), "num_agents = 0"),
    "an adjacency with NaN": (lambda: from_adjacency(np.full((2, 2), np.nan)), "0 or 1"),
    "a weighted adjacency": (lambda: from_adjacency(np.full((2, 2), 0.5)), "0 or 1"),
    "asymmetric edges": (lambda: from_adjacency(LOPSIDED), "Correct the pair 1-2"),
    "an adjacency with a loop": (lambda: from_adjacency(np.eye(2)), "its own neighbour"),
    "a directed networkx": (lambda: from_networkx(networkx.DiGraph([(0, 1)])), "DiGraph"),
    "networkx nodes of two kinds": (lambda: from_networkx(networkx.Graph([(0, "a")])), "relabel"),
    "a networkx loop": (lambda: from_networkx(networkx.Graph([(0, 0)])), "its own neighbour"),
    "a graph in parts": (lambda: require_connected(PARTS), "{0, 1}, {2, 3}, {4}"),
    "a step on parts": (lambda: best_step(PARTS), "3 parts"),
    "a contraction of parts": (lambda: best_contraction(PARTS), "3 parts"),
    "a largest step on parts": (lambda: largest_contracting_step(PARTS), "3 parts"),
    "a ring of two": (lambda: ring(2), "needs 3 agents"),
    "a path of none": (lambda: path(0), "num_agents = 0"),
    "a star of minus one": (lambda: star(-1), "num_agents = -1"),
    "a complete graph of none": (lambda: complete(0), "num_agents = 0"),
    "an odd number of neighbours": (lambda: nearest(7, 3), "3 nearest"),
    "more neighbours than agents": (lambda: nearest(6, 6), "6 nearest"),
    "an offset past half the ring": (lambda: circulant(6, (4,)), "1 <= offset <= 3"),
    "an odd sum of degrees": (lambda: random_regular(7, 3, 0), "degree 3"),
    "a degree of none": (lambda: random_regular(6, 0, 0), "degree 0"),
    "a regular graph never connected": (lambda: random_regular(6, 1, 0), "Raise the degree"),
    "a radius too small": (lambda: random_geometric(9, 0.01, 0), "Raise the radius"),
    "a radius of NaN": (lambda: random_geometric(9, float("nan"), 0), "radius nan"),
    "geometric without agents": (lambda: random_geometric(0, 0.5, 0), "num_agents = 0"),
    "a negative seed": (lambda: random_geometric(5, 0.5, -1), "seed = -1"),
    "a negative seed of a search": (lambda: best_graph(8, 9, seed=-1), "seed = -1"),
    "an unknown word": (lambda: graph_from_text("rnig", 5), "Did you mean ring?"),
    "nothing": (lambda: graph_from_text("", 5), "path, ring, star"),
    "a name too long": (lambda: graph_from_text("x" * 5_000, 5), "is not known"),
    "a name with NUL": (lambda: graph_from_text("a\0\nb", 5), "is not known"),
    "a folder": (lambda: graph_from_text("/", 5), "nor is it a file"),
    "nearest what": (lambda: graph_from_text("nearest", 5), "nearest:4"),
    "nearest to a word": (lambda: graph_from_text("nearest:four", 9), "'four'"),
    "regular minus": (lambda: graph_from_text("regular:-3", 9), "regular:3"),
    "geometric word": (lambda: graph_from_text("geometric:far", 9), "geometric:0.5"),
    "geometric infinity": (lambda: graph_from_text("geometric:inf", 9), "radius inf"),
    "ring of something": (lambda: graph_from_text("ring:3", 9), "no argument"),
    "the paper's graph of nine": (lambda: graph_from_text("paper-13", 9), "it has 7 agents"),
    "best of too few": (lambda: graph_from_text("best:5", 7), "6 <= max_edges <= 21"),
    "half an inline edge": (lambda: graph_from_text("0-1,1-", 3), "edge '1-'"),
    "an inline end too high": (lambda: graph_from_text("0-1,1-3", 3), "edge 1-3"),
    "a file that is absent": (lambda: read_graph("no/such.txt"), "No such file"),
    "a folder as file": (lambda: read_graph("/"), "can not be read"),
    "best with too many edges": (lambda: best_graph(7, 22), "max_edges = 22"),
    "exactly too few edges": (lambda: best_graph_with(9, 7), "num_edges = 7"),
    "best of too many agents": (lambda: best_graph(51, 60), "num_agents = 51"),
    "a list of all graphs of eight": (lambda: connected_graphs(8), "num_agents = 8"),
    "minus one round": (lambda: constant_weights(path(3), 0.1, -1), "consensus_rounds = -1"),
    "a billion rounds": (lambda: constant_weights(path(3), 0.1, 10**9), "consensus_rounds"),
    "a step of zero": (lambda: constant_weights(path(3), 0.0, 1), "consensus_step = 0.0"),
    "a step of NaN": (lambda: constant_weights(path(3), float("nan"), 1), "step = nan"),
    "a step that never agrees": (lambda: constant_weights(path(3), 0.7, 1), "best step is 0.5"),
    "fdla on too much": (lambda: fdla_weights(complete(26), 1), "26 agents and 325 edges"),
    "mixing of two axes": (lambda: check_mixing(np.eye(3)), "shape (3, 3)"),
    "mixing for others": (lambda: check_mixing(NEARLY, path(4)), "shape (rounds, 4, 4)"),
    "mixing with NaN": (lambda: check_mixing(_with(NEARLY, (1, 0, 0), np.nan)), "NaN"),
    "mixing one way": (lambda: check_mixing(_with(NEARLY, (1, 0, 2), 0.1)), "symmetric"),
    "mixing that gains": (lambda: check_mixing(_with(NEARLY, (1, 2, 2), 0.8)), "sum to 1"),
    "mixing past the graph": (lambda: check_mixing(NEARLY, star(3)), "without an edge"),
    "mixing that does nothing": (lambda: check_mixing(np.eye(3)[None]), "less than 1"),
    **{
        f"{word} weights on parts": (lambda word=word: WEIGHTS[word](PARTS, 0.1, 1), "3 parts")
        for word in WEIGHTS
    },
    **{
        f"{word} of no agents": (lambda word=word: GRAPHS[word](0, "4", 0), "not allowed")
        for word in GRAPHS
    },
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_in_one_line(case: str):
    call, fragment = CASES[case]

    with pytest.raises(BadInput) as caught:
        call()

    message = str(caught.value)
    assert fragment in message
    assert "\n" not in message
    assert len(message) < 400


FILES: dict[str, tuple[bytes, str]] = {
    "a line with one number": (b"0 1\n2\n", "line 2, '2'"),
    "a line with a word": (b"0 1\n1 x\n", "line 2, '1 x'"),
    "a fraction": (b"0 1.5\n", "line 1, '0 1.5'"),
    "a negative number": (b"0 -1\n", "line 1, '0 -1'"),
    "three numbers": (b"0 1 2\n", "line 1"),
    "a number of many digits": (b"0 " + b"9" * 5_000, "line 1"),
    "an agent beyond reason": (b"0 999999999\n", "num_agents = 1000000000"),
    "digits of another script": ("0 \u0661".encode(), "line 1"),
    "an edge twice": (b"0 1\n1 0\n", "edge 0-1 twice"),
    "a self-loop": (b"1 1\n", "edge 1-1"),
    "no edges": (b"# nothing\n", "no edges"),
    "not UTF-8": (b"0 1\n\xff\xfe\n", "not UTF-8"),
    "over a megabyte": (b"# " + b"x" * 1_000_000, "over 1 MB"),
    "half of JSON": (b'{"edges": [[0, 1]', "not JSON"),
    "JSON too deep": (b"[" * 100_000, "not JSON"),
    "JSON of many digits": (b"[[0, " + b"1" * 5_000 + b"]]", "not JSON"),
    "JSON without edges": (b'{"nodes": 3}', "must look like"),
    "JSON with agents as word": (b'{"num_agents": "3", "edges": []}', "must look like"),
    "a JSON edge of words": (b'[["a", "b"]]', 'edge ["a", "b"]'),
    "a JSON edge of fractions": (b"[[0.0, 1.0]]", "edge [0.0, 1.0]"),
    "a JSON edge of truths": (b"[[false, true]]", "edge [false, true]"),
    "a negative JSON end": (b"[[0, -1]]", "edge [0, -1]"),
    "JSON for others": (b'{"num_agents": 3, "edges": [[0, 1]]}', "9 agents were asked for"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_refused_in_one_line_that_names_it(case: str, tmp_path: Path):
    content, fragment = FILES[case]
    file = tmp_path / "graph.txt"
    file.write_bytes(content)

    with pytest.raises(BadInput) as caught:
        read_graph(file, 9 if case == "JSON for others" else None)

    message = str(caught.value)
    assert fragment in message
    assert str(file) in message
    assert "\n" not in message
