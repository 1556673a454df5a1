import math

import numpy as np
import pytest

from fmarl.topology import (
    Graph,
    algebraic_connectivity,
    best_contraction,
    best_step,
    complete,
    constant_weights,
    disagreement_left,
    from_edges,
    laplacian_eigenvalues,
    largest_contracting_step,
    largest_paper_step,
    path,
    ring,
    star,
)

ALONE = Graph(num_agents=1, edges=())


@pytest.mark.parametrize("num_agents", [2, 5, 8])
def test_known_spectra_are_found(num_agents: int):
    index = np.arange(num_agents)
    known = {
        path: 2 - 2 * np.cos(np.pi * index / num_agents),
        star: np.r_[0.0, np.ones(num_agents - 2), num_agents],
        complete: np.r_[0.0, np.full(num_agents - 1, num_agents)],
    }

    for recipe, eigenvalues in known.items():
        np.testing.assert_allclose(
            laplacian_eigenvalues(recipe(num_agents)), eigenvalues, atol=1e-12
        )


def test_each_part_of_a_graph_has_an_exact_zero():
    eigenvalues = laplacian_eigenvalues(from_edges(5, [(0, 1), (2, 3), (3, 4)]))

    assert eigenvalues[:2].tolist() == [0.0, 0.0]
    assert eigenvalues[2] > 0.9


def test_algebraic_connectivity_is_zero_in_parts_and_alone():
    assert algebraic_connectivity(from_edges(4, [(0, 1), (2, 3)])) == 0.0
    assert algebraic_connectivity(ALONE) == 0.0


def test_steps_of_a_path_of_two_worked_by_hand():
    pair = path(2)  # eigenvalues 0 and 2

    assert largest_paper_step(pair) == 0.5
    assert largest_contracting_step(pair) == pytest.approx(1.0)
    assert best_step(pair) == pytest.approx(0.5)
    assert best_contraction(pair) == pytest.approx(0.0, abs=1e-15)


def test_one_agent_agrees_with_himself_at_any_step():
    assert largest_contracting_step(ALONE) == math.inf
    assert best_step(ALONE) == 1.0
    assert best_contraction(ALONE) == 0.0
    assert disagreement_left(np.ones((3, 1, 1))) == 0.0
    assert disagreement_left(np.ones((0, 1, 1))) == 0.0


def test_no_rounds_leave_all_disagreement():
    assert disagreement_left(np.zeros((0, 4, 4))) == 1.0


def test_rounds_are_applied_first_to_last():
    first = np.full((3, 3), 1 / 3)  # the exact mean, then nothing can disagree …
    second = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # … but rows sum to 1

    assert disagreement_left(np.stack([first, second])) == pytest.approx(0.0, abs=1e-15)
    assert disagreement_left(np.stack([second, first])) > 0.1


def test_a_step_beyond_the_best_one_leaves_more_disagreement():
    graph = ring(6)
    best = best_step(graph)

    left = [disagreement_left(constant_weights(graph, best * x, 1)) for x in (0.9, 1.0, 1.1)]

    assert left[1] == pytest.approx(best_contraction(graph), rel=1e-12)
    assert min(left) == left[1]
