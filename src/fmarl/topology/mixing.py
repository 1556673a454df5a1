"""How much of each neighbour's gradient an agent takes, round after round.

Every recipe returns the rounds W_1 … W_E stacked, W_1 first, so that the same array is trained
with, billed and bounded. Each W_e is symmetric, has rows that sum to one (so the mean of the
gradients is kept) and is zero where the graph has no edge.
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from fmarl.errors import require
from fmarl.topology.fdla import fdla_matrix
from fmarl.topology.graph import Graph, require_connected
from fmarl.topology.spectrum import (
    best_step,
    disagreement_left,
    laplacian_eigenvalues,
    largest_contracting_step,
    largest_paper_step,
)

Rounds = Float[np.ndarray, "round agent agent"]

MAX_ENTRIES = 2**26  # half a gigabyte of float64
TOLERANCE = 1e-9


def constant_weights(graph: Graph, consensus_step: float, consensus_rounds: int) -> Rounds:
    """Every round moves each agent by the same step towards its neighbours.

    Paper: Eq. (23).  g_i ← g_i + ε Σ_{l∈Ω_i} (g_l - g_i), that is W = I - ε La, E times.
    Differs from the paper: any ε < 2/μ_m is allowed, for it contracts; `paper_step_problem`
    tells when the paper's own 0 < ε < 1/Δ is left (`test_steps_up_to_two_over_mu_m_contract`).

    >>> from fmarl.topology import path
    >>> constant_weights(path(2), 0.25, 1).tolist()
    [[[0.75, 0.25], [0.25, 0.75]]]
    """
    _check(graph, consensus_rounds)
    limit = largest_contracting_step(graph)
    require(
        math.isfinite(consensus_step) and 0 < consensus_step < limit,
        f"consensus_step = {consensus_step}",
        f"0 < consensus_step < {limit:.6g} on this graph, else agents never agree",
        f"The best step is {best_step(graph):.6g}.",
    )
    matrix = np.eye(graph.num_agents) - consensus_step * graph.laplacian
    return _repeat(matrix, consensus_rounds)


def optimal_weights(graph: Graph, consensus_rounds: int) -> Rounds:
    """Return the constant step that leaves the least disagreement, ε* = 2 / (μ_2 + μ_m).

    >>> from fmarl.topology import disagreement_left, path
    >>> round(disagreement_left(optimal_weights(path(5), 2)), 4)
    0.6545
    """
    return constant_weights(graph, best_step(graph), consensus_rounds)


def metropolis_weights(graph: Graph, consensus_rounds: int) -> Rounds:
    """Return weights that neighbours can agree on alone: w_il = 1 / (1 + max(|Ω_i|, |Ω_l|)).

    >>> from fmarl.topology import star
    >>> metropolis_weights(star(3), 1)[0].round(3).tolist()
    [[0.333, 0.333, 0.333], [0.333, 0.667, 0.0], [0.333, 0.0, 0.667]]
    """
    _check(graph, consensus_rounds)
    degrees = graph.degrees
    matrix = graph.adjacency / (1.0 + np.maximum.outer(degrees, degrees))
    np.fill_diagonal(matrix, 1.0 - matrix.sum(axis=1))
    return _repeat(matrix, consensus_rounds)


def chebyshev_weights(graph: Graph, consensus_rounds: int) -> Rounds:
    """Return a different step each round, which together beat any repeated one.

    ε_e = 1 / [(μ_m + μ_2)/2 + (μ_m - μ_2)/2 · cos(π (2e + 1) / (2E))],  e = 0 … E-1,
    leaves at most 1 / T_E((μ_m + μ_2) / (μ_m - μ_2)), T_E the Chebyshev polynomial. Single
    rounds may amplify; only all E together contract.

    >>> from fmarl.topology import disagreement_left, path
    >>> round(disagreement_left(chebyshev_weights(path(5), 2)), 4)
    0.4864
    """
    _check(graph, consensus_rounds)
    if graph.num_agents == 1 or consensus_rounds == 0:
        return _repeat(np.eye(graph.num_agents), consensus_rounds)
    eigenvalues = laplacian_eigenvalues(graph)
    slowest, fastest = eigenvalues[1], eigenvalues[-1]
    angles = np.pi * (2 * np.arange(consensus_rounds) + 1) / (2 * consensus_rounds)
    roots = (fastest + slowest) / 2 + (fastest - slowest) / 2 * np.cos(angles)
    steps = 1.0 / roots[_spread_order(np.cos(angles))]
    return np.eye(graph.num_agents) - steps[:, None, None] * graph.laplacian


def fdla_weights(graph: Graph, consensus_rounds: int) -> Rounds:
    """Return the best symmetric weights one by one for each edge (fastest linear averaging).

    Minimises ‖W - J‖₂ over symmetric W with the graph's zeros and rows that sum to one;
    within 1e-8 of the optimum, which is certified. Up to 50 agents and 300 edges.

    >>> from fmarl.topology import disagreement_left, paper_16
    >>> round(disagreement_left(fdla_weights(paper_16(), 1)), 4)
    0.4
    """
    _check(graph, consensus_rounds)
    return _repeat(fdla_matrix(graph).matrix, consensus_rounds)


def _without_step(recipe: Callable[[Graph, int], Rounds]) -> Callable[[Graph, float, int], Rounds]:
    """Give a recipe that chooses its own steps the signature of those that are told."""
    return lambda graph, _consensus_step, consensus_rounds: recipe(graph, consensus_rounds)


WEIGHTS: dict[str, Callable[[Graph, float, int], Rounds]] = {
    "paper": constant_weights,
    "optimal": _without_step(optimal_weights),
    "metropolis": _without_step(metropolis_weights),
    "chebyshev": _without_step(chebyshev_weights),
    "fdla": _without_step(fdla_weights),
}
"""From the word of the command line to `(graph, consensus_step, consensus_rounds) -> rounds`."""


def paper_step_problem(graph: Graph, consensus_step: float) -> str | None:
    """Say, in one line, that a step is outside the paper's range; None if it is inside.

    Paper: Eq. (23).  The text after it has 0 < ε < 1/Δ,  Δ = max_i |Ω_i| + 1.

    >>> from fmarl.topology import path
    >>> paper_step_problem(path(5), 0.5)
    "consensus_step = 0.5 is outside the paper's own range 0 < consensus_step < 0.333333"
    """
    limit = largest_paper_step(graph)
    if 0 < consensus_step < limit:
        return None
    allowed = f"0 < consensus_step < {limit:.6g}"
    return f"consensus_step = {consensus_step:.6g} is outside the paper's own range {allowed}"


def check_mixing(rounds: np.ndarray, graph: Graph | None = None) -> None:
    """Raise `BadInput` naming the first property that hand-made rounds lack.

    They must be symmetric, keep the mean, respect the graph's links (if one is given), and
    all together leave less disagreement than there was. No rounds at all are fine.

    >>> check_mixing(np.full((1, 2, 2), 0.5))
    """
    _check_shape(rounds, graph)
    row_sums = rounds.sum(axis=2, keepdims=True) * np.ones_like(rounds)
    _check_entries(rounds, rounds.swapaxes(1, 2), "symmetric, as links work both ways")
    _check_entries(row_sums, np.ones_like(rounds), "rows that sum to 1, so that the mean is kept")
    if graph is not None:
        linked = (graph.adjacency + np.eye(graph.num_agents)) * rounds
        _check_entries(rounds, linked, "zero between agents without an edge")
    left = disagreement_left(rounds.astype(float))
    require(
        len(rounds) == 0 or left < 1.0 - 1e-12,
        f"mixing that leaves {left:.6g} of the disagreement",
        "less than 1 after all rounds",
        "Use smaller steps or a connected graph.",
    )


def _check_shape(rounds: np.ndarray, graph: Graph | None) -> None:
    shape = rounds.shape
    expected = f"(rounds, {graph.num_agents}, {graph.num_agents})" if graph else "(rounds, m, m)"
    square = len(shape) == 3 and shape[1] == shape[2] >= 1
    require(
        square and (graph is None or shape[1] == graph.num_agents),
        f"mixing of shape {shape}",
        f"shape {expected}",
        "Stack one square matrix per round.",
    )
    finite = rounds.dtype.kind in "iuf" and bool(np.isfinite(rounds).all())
    require(finite, "mixing with NaN or infinity", "finite real numbers", "Check its origin.")


def _check_entries(actual: np.ndarray, wanted: np.ndarray, allowed: str) -> None:
    far = np.argwhere(np.abs(actual - wanted) > TOLERANCE)
    if len(far):
        e, i, j = (int(index) for index in far[0])
        what = f"mixing[{e}, {i}, {j}], off by {abs(actual[e, i, j] - wanted[e, i, j]):.3g},"
        require(False, what, allowed, "Make the weights with fmarl.topology.")


def _check(graph: Graph, consensus_rounds: int) -> None:
    require_connected(graph)
    most = MAX_ENTRIES // graph.num_agents**2
    require(
        0 <= consensus_rounds <= most,
        f"consensus_rounds = {consensus_rounds}",
        f"0 <= consensus_rounds <= {most} with {graph.num_agents} agents",
        "Use a small number such as 2.",
    )


def _repeat(matrix: Float[np.ndarray, "agent agent"], consensus_rounds: int) -> Rounds:
    return np.repeat(matrix[None], consensus_rounds, axis=0)


def _spread_order(points: Float[np.ndarray, " round"]) -> list[int]:
    """Order in which each point is as far as possible from all before it (Leja's order).

    On a path of 30, twenty rounds with large steps first amplify noise 1.7e9-fold before small
    ones damp it; in this order 160-fold (`test_twenty_chebyshev_rounds_lose_no_digits`).
    """
    order = [int(np.argmax(np.abs(points)))]
    log_distances = np.zeros(len(points))
    while len(order) < len(points):
        with np.errstate(divide="ignore"):
            log_distances += np.log(np.abs(points - points[order[-1]]))
        order.append(int(np.argmax(log_distances)))
    return order
