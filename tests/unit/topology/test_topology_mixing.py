import numpy as np
import pytest
from networkx import complete_bipartite_graph, gnm_random_graph

from fmarl.topology import (
    WEIGHTS,
    Graph,
    chebyshev_weights,
    check_mixing,
    complete,
    connected_graphs,
    constant_weights,
    disagreement_left,
    fdla_matrix,
    from_networkx,
    laplacian_eigenvalues,
    largest_contracting_step,
    largest_paper_step,
    metropolis_weights,
    paper_13,
    paper_16,
    paper_step_problem,
    path,
    random_regular,
    ring,
    star,
)
from fmarl.topology.mixing import _spread_order

K33 = from_networkx(complete_bipartite_graph(3, 3))


@pytest.mark.parametrize("word", WEIGHTS)
@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("graph", [paper_13(), path(2), star(5), complete(4), ring(7)])
def test_every_word_gives_rounds_that_pass_the_check(word: str, rounds: int, graph: Graph):
    mixing = WEIGHTS[word](graph, 0.1, rounds)

    assert mixing.shape == (rounds, graph.num_agents, graph.num_agents)
    check_mixing(mixing, graph)


@pytest.mark.parametrize("word", WEIGHTS)
def test_one_agent_keeps_what_he_has(word: str):
    alone = Graph(num_agents=1, edges=())

    np.testing.assert_array_equal(WEIGHTS[word](alone, 0.1, 2), np.ones((2, 1, 1)))


def test_constant_weights_are_identity_minus_step_times_laplacian():
    expected = [[0.75, 0.25, 0.0], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]]

    np.testing.assert_array_equal(constant_weights(path(3), 0.25, 2), [expected, expected])


def test_rounds_can_be_changed_one_by_one():
    mixing = constant_weights(path(3), 0.25, 2)
    mixing[0] = np.eye(3)

    assert mixing[1, 0, 1] == 0.25


# From facts/theory.md, section 5.3, which computed them with another program.
TABLE = {
    "1081": (paper_13(), 0.8562, 0.7966, 0.2370, 0.6591, 0.7695, 0.5610, 0.4344, 0.2774),
    "1221": (paper_16(), 0.7481, 0.6438, 0.2101, 0.4708, 0.6241, 0.4000, 0.2216, 0.1246),
    "P5": (path(5), 0.9618, 0.8740, 0.5000, 0.8090, 0.8727, 0.8090, 0.6545, 0.4864),
    "C7": (ring(7), 0.9247, 0.7515, 0.4391, 0.6694, 0.7490, 0.6694, 0.4480, 0.2887),
    "K3,3": (K33, 0.7000, 0.4850, 0.2222, 0.3333, 0.5000, 0.3333, 0.1111, 0.0588),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_table_of_weights_is_reproduced_to_its_printed_digits(name: str):
    graph, at_tenth, at_limit, step, *others = TABLE[name]
    near_limit = 0.99 * largest_paper_step(graph)

    left = [disagreement_left(constant_weights(graph, e, 1)) for e in (0.1, near_limit, step)]
    ways = [("optimal", 1), ("metropolis", 1), ("fdla", 1), ("optimal", 2), ("chebyshev", 2)]
    found = [disagreement_left(WEIGHTS[word](graph, 0.1, rounds)) for word, rounds in ways]

    assert [round(value, 4) for value in left[:2]] == [at_tenth, at_limit]
    assert [round(value, 4) for value in found] == others
    assert left[2] == pytest.approx(found[0], abs=2e-4)  # the table's ε*, rounded, is the best


def test_steps_up_to_two_over_mu_m_contract():
    graph = paper_13()
    step = 0.999 * largest_contracting_step(graph)

    assert paper_step_problem(graph, step)
    assert disagreement_left(constant_weights(graph, step, 1)) < 1


def test_the_papers_range_of_steps_excludes_its_ends():
    graph = path(5)
    limit = largest_paper_step(graph)

    assert paper_step_problem(graph, 0.999 * limit) is None
    for outside in (0.0, limit, float("nan"), -0.1):
        problem = paper_step_problem(graph, outside)
        assert problem is not None
        assert "0 < consensus_step < 0.333333" in problem


@pytest.mark.parametrize("graph", [paper_13(), path(5), ring(12), path(30)])
@pytest.mark.parametrize("rounds", [1, 2, 5, 20])
def test_chebyshev_leaves_what_its_polynomial_says(graph: Graph, rounds: int):
    _, slowest, *_, fastest = laplacian_eigenvalues(graph)
    argument = (fastest + slowest) / (fastest - slowest)

    expected = 1 / np.cosh(rounds * np.arccosh(argument))

    left = disagreement_left(chebyshev_weights(graph, rounds))
    assert left == pytest.approx(expected, rel=1e-12, abs=1e-15)


def _left_in_single_precision(mixing: np.ndarray) -> float:
    rows = np.eye(mixing.shape[1], dtype=np.float32)
    for matrix in mixing.astype(np.float32):
        rows = matrix @ rows
    return float(np.abs(rows - rows.mean(axis=0)).max())


def test_twenty_chebyshev_rounds_lose_no_digits():
    graph = path(30)
    mixing = chebyshev_weights(graph, 20)
    steps = mixing[:, 0, 1]  # the end of a path has one neighbour, so this is ε_e

    small_first, large_first = (mixing[order] for order in (np.argsort(steps), np.argsort(-steps)))

    expected = np.abs(np.linalg.multi_dot(mixing[::-1]) - 1 / 30).max()
    assert _left_in_single_precision(mixing) == pytest.approx(expected, rel=1e-3)
    assert _left_in_single_precision(small_first) > 2 * expected
    assert _left_in_single_precision(large_first) > 2 * expected


def test_no_partial_product_of_twenty_chebyshev_rounds_is_large():
    product = np.eye(7)
    for matrix in chebyshev_weights(paper_13(), 20):
        product = matrix @ product
        assert np.linalg.norm(product, 2) < 1.0 + 1e-12


def test_spread_order_uses_each_point_once():
    assert sorted(_spread_order(np.cos(np.pi * (2 * np.arange(9) + 1) / 18))) == list(range(9))


def test_metropolis_weights_are_never_negative():
    assert metropolis_weights(paper_13(), 1).min() >= 0.0


@pytest.mark.parametrize("seed", range(2))
def test_fdla_is_certified_on_random_graphs_of_twenty_agents(seed: int):
    graph = from_networkx(gnm_random_graph(20, 40, seed=seed))

    best = fdla_matrix(graph)

    assert best.attained - best.lower_bound < 1e-8
    assert disagreement_left(best.matrix[None]) == pytest.approx(best.attained, abs=1e-14)


def test_fdla_is_certified_on_every_graph_of_six_agents():
    gaps = [best.attained - best.lower_bound for best in map(fdla_matrix, connected_graphs(6))]

    assert max(gaps) < 1e-8


def test_no_nudge_of_single_edges_improves_fdla():
    graph = paper_13()
    best = fdla_matrix(graph)
    for i, j in graph.edges:
        for nudge in (1e-3, -1e-3):
            matrix = best.matrix.copy()
            matrix[[i, j], [j, i]] += nudge
            matrix[[i, j], [i, j]] -= nudge
            assert disagreement_left(matrix[None]) > best.lower_bound


def test_fdla_gives_the_exact_mean_on_a_complete_graph():
    np.testing.assert_allclose(fdla_matrix(complete(6)).matrix, np.full((6, 6), 1 / 6), atol=1e-12)


def test_a_regular_graph_of_high_degree_is_within_fdlas_limits():
    best = fdla_matrix(random_regular(14, 7, seed=1))

    assert best.attained - best.lower_bound < 1e-8
