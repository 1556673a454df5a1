"""Graphs against an independent enumeration (facts/theory.md, sections 4 and 5.3)."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fmarl.topology import (
    Graph,
    algebraic_connectivity,
    best_contraction,
    best_graph_with,
    best_step,
    connected_graphs,
    from_edges,
    laplacian_eigenvalues,
    paper_13,
    paper_13_other,
    paper_16,
)

HERE = Path(__file__).parent
PAPER = {
    record["atlas"]: record
    for records in json.loads((HERE / "topologies.json").read_text()).values()
    for record in records
}
BEST = list(csv.DictReader((HERE / "best_topologies_7.csv").read_text().splitlines()))


@pytest.mark.parametrize(
    ("atlas", "graph"), [(1047, paper_13_other()), (1081, paper_13()), (1221, paper_16())]
)
def test_graphs_of_the_paper_are_those_of_the_enumeration(atlas: int, graph: Graph):
    record = PAPER[atlas]

    assert [list(edge) for edge in graph.edges] == record["edges"]
    assert sorted(graph.degrees.tolist()) == record["degrees"]
    np.testing.assert_allclose(laplacian_eigenvalues(graph), record["mu"], atol=1e-12)


def test_the_papers_connectivity_leaves_two_graphs_of_13_edges_and_one_of_16():
    same = Counter()
    for graph in connected_graphs(7):
        connectivity = round(algebraic_connectivity(graph), 4)
        same[graph.num_edges, connectivity] += 1

    assert same[13, 1.4384] == 2
    assert same[16, 2.5188] == 1


@pytest.mark.parametrize("row", BEST, ids=lambda row: f"{row['edges']} edges")
def test_best_graphs_of_seven_are_those_of_the_enumeration(row: dict[str, str]):
    num_edges = int(row["edges"])
    graph = best_graph_with(7, num_edges)

    assert graph.num_edges == num_edges
    assert best_contraction(graph) == pytest.approx(float(row["best_rho_star"]), abs=6e-7)
    assert best_step(graph) == pytest.approx(float(row["eps_star"]), abs=6e-7)


@pytest.mark.parametrize("row", BEST, ids=lambda row: f"{row['edges']} edges")
def test_the_enumerations_own_graph_has_its_numbers(row: dict[str, str]):
    ends = (edge.split("-") for edge in row["edge_list"].split(";"))
    graph = from_edges(7, [(int(i), int(j)) for i, j in ends])
    eigenvalues = laplacian_eigenvalues(graph)

    assert best_contraction(graph) == pytest.approx(float(row["best_rho_star"]), abs=6e-7)
    assert eigenvalues[1] == pytest.approx(float(row["mu2"]), abs=6e-7)
    assert eigenvalues[-1] == pytest.approx(float(row["mu_m"]), abs=6e-7)


def test_there_are_as_many_graphs_of_each_size_as_enumerated():
    counts = Counter(graph.num_edges for graph in connected_graphs(7))

    assert counts == {int(row["edges"]): int(row["n_graphs"]) for row in BEST}
