"""What holds for every graph and every way of weighting it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx import complete_bipartite_graph, is_isomorphic

from fmarl.topology import (
    WEIGHTS,
    Graph,
    algebraic_connectivity,
    best_contraction,
    best_graph,
    best_step,
    check_mixing,
    complete,
    connected_graphs,
    constant_weights,
    disagreement_left,
    from_adjacency,
    from_edges,
    from_networkx,
    graph_from_text,
    laplacian_eigenvalues,
    largest_contracting_step,
    largest_paper_step,
    to_networkx,
)

K33 = from_networkx(complete_bipartite_graph(3, 3))
Plan = tuple[int, list[tuple[int, int]]]
SMALL_GRAPHS = [graph for size in range(2, 8) for graph in connected_graphs(size)]


@st.composite
def connected(draw: st.DrawFn) -> Plan:
    """Draw a random tree with random edges added.

    The test makes the graph of it: checked code draws random numbers, a strategy must not.
    """
    num_agents = draw(st.integers(2, 9))
    tree = {(draw(st.integers(0, agent - 1)), agent) for agent in range(1, num_agents)}
    pairs = [(i, j) for i in range(num_agents) for j in range(i + 1, num_agents)]
    return num_agents, sorted(tree | draw(st.sets(st.sampled_from(pairs))))


def _disagreement(rows: np.ndarray) -> float:
    return float(np.linalg.norm(rows - rows.mean(axis=0)))


def _left(word: str, graph: Graph, rounds: int) -> float:
    return disagreement_left(WEIGHTS[word](graph, 0.9 * largest_paper_step(graph), rounds))


@pytest.mark.parametrize("word", WEIGHTS)
@settings(max_examples=40, deadline=None)
@given(
    plan=connected(),
    share=st.floats(0.01, 0.99),
    rounds=st.integers(0, 6),
    seed=st.integers(0, 99),
)
def test_mixing_keeps_the_mean_and_leaves_no_more_disagreement_than_promised(
    word: str, plan: Plan, share: float, rounds: int, seed: int
):
    graph = from_edges(*plan)
    mixing = WEIGHTS[word](graph, share * largest_contracting_step(graph), rounds)
    gradients = np.random.default_rng(seed).normal(size=(graph.num_agents, 3))

    mixed = gradients
    for matrix in mixing:
        mixed = matrix @ mixed

    check_mixing(mixing, graph)
    np.testing.assert_allclose(mixed.mean(axis=0), gradients.mean(axis=0), atol=1e-11)
    promised = disagreement_left(mixing) * _disagreement(gradients)
    assert _disagreement(mixed) <= promised * (1 + 1e-9) + 1e-11


@settings(max_examples=40, deadline=None)
@given(plan=connected(), share=st.floats(0.01, 0.99), rounds=st.integers(1, 5))
def test_what_a_constant_step_leaves_follows_from_both_ends_of_the_spectrum(
    plan: Plan, share: float, rounds: int
):
    graph = from_edges(*plan)
    step = share * largest_contracting_step(graph)
    eigenvalues = laplacian_eigenvalues(graph)

    expected = max(abs(1 - step * eigenvalues[1]), abs(1 - step * eigenvalues[-1])) ** rounds

    left = disagreement_left(constant_weights(graph, step, rounds))
    assert left == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(plan=connected(), rounds=st.integers(1, 6))
def test_cleverer_weights_leave_less(plan: Plan, rounds: int):
    graph = from_edges(*plan)
    fdla, optimal = _left("fdla", graph, 1), _left("optimal", graph, 1)

    assert optimal == pytest.approx(best_contraction(graph), abs=1e-12)
    assert fdla <= min(optimal, _left("metropolis", graph, 1)) + 1e-8
    assert optimal <= _left("paper", graph, 1) + 1e-12
    assert _left("chebyshev", graph, rounds) <= optimal**rounds + 1e-12


@given(num_agents=st.integers(2, 12))
def test_one_round_on_a_complete_graph_gives_the_exact_mean(num_agents: int):
    mixing = constant_weights(complete(num_agents), 1 / num_agents, 1)

    np.testing.assert_allclose(mixing[0], np.full((num_agents, num_agents), 1 / num_agents))


@settings(deadline=None)
@given(plan=connected())
def test_a_graph_survives_every_form_it_can_be_given_in(plan: Plan):
    graph = from_edges(*plan)
    inline = ",".join(f"{j}-{i}" for i, j in reversed(graph.edges))

    assert from_adjacency(graph.adjacency) == graph
    assert from_networkx(to_networkx(graph)) == graph
    assert graph_from_text(inline, graph.num_agents) == graph


@settings(deadline=None)
@given(plan=connected(), seed=st.integers(0, 99))
def test_the_spectrum_does_not_depend_on_who_is_called_what(plan: Plan, seed: int):
    graph = from_edges(*plan)
    order = np.random.default_rng(seed).permutation(graph.num_agents)

    renamed = from_adjacency(graph.adjacency[np.ix_(order, order)])

    np.testing.assert_allclose(
        laplacian_eigenvalues(renamed), laplacian_eigenvalues(graph), atol=1e-10
    )


@settings(max_examples=4, deadline=None)
@given(num_agents=st.integers(2, 14), share=st.floats(0, 1), seed=st.integers(0, 3))
def test_the_best_graph_is_connected_and_within_budget(num_agents: int, share: float, seed: int):
    least, most = num_agents - 1, num_agents * (num_agents - 1) // 2
    budget = int(least + share * (most - least))

    graph = best_graph(num_agents, budget, seed)

    assert graph.is_connected
    assert graph.num_edges <= budget


def test_algebraic_connectivity_reaches_the_papers_limit_only_on_complete_graphs():
    for graph in SMALL_GRAPHS:
        connectivity, limit = algebraic_connectivity(graph), 1 / largest_paper_step(graph)
        is_complete = graph.num_links == graph.num_agents * (graph.num_agents - 1)
        assert 0 < connectivity < limit + 1e-9
        assert (connectivity > limit - 1e-9) == is_complete


def test_of_all_995_small_graphs_only_k33_breaks_the_papers_rate():
    assert len(SMALL_GRAPHS) == 995

    broken = [
        graph
        for graph in SMALL_GRAPHS
        if laplacian_eigenvalues(graph)[[1, -1]].sum() > 2 / largest_paper_step(graph) + 1e-9
    ]

    assert len(broken) == 1
    assert is_isomorphic(to_networkx(broken[0]), to_networkx(K33))


def test_on_k33_the_paper_promises_more_than_is_true():
    promised = (1 - 0.24 * algebraic_connectivity(K33)) ** 2
    true = disagreement_left(constant_weights(K33, 0.24, 1)) ** 2

    assert largest_paper_step(K33) > 0.24
    assert promised == pytest.approx(0.0784, abs=1e-12)
    assert true == pytest.approx(0.1936, abs=1e-12)


@pytest.mark.parametrize("half", range(2, 9))
def test_bipartite_graphs_break_the_papers_rate_from_three_plus_three_on(half: int):
    graph = from_networkx(complete_bipartite_graph(half, half))
    step = 0.999 * largest_paper_step(graph)

    promised = 1 - step * algebraic_connectivity(graph)
    true = disagreement_left(constant_weights(graph, step, 1))

    assert (true > promised + 1e-9) == (half >= 3)
    assert (best_step(graph) < largest_paper_step(graph)) == (half >= 3)


def test_on_ten_plus_ten_the_gap_is_the_one_reported():
    graph = from_networkx(complete_bipartite_graph(10, 10))
    step = 0.96 / 11

    for rounds, promised, true in ((1, 0.0162, 0.5557), (4, 6.9e-8, 9.5e-2)):
        paper = (1 - step * algebraic_connectivity(graph)) ** (2 * rounds)
        left = disagreement_left(constant_weights(graph, step, rounds)) ** 2
        assert paper == pytest.approx(promised, rel=0.01)
        assert left == pytest.approx(true, rel=0.01)
