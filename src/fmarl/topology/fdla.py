"""The best fixed weights for a graph: fastest distributed linear averaging, with a certificate.

Minimise t subject to -tI <= M(w) <= tI, where M(w) = I - Σ_e w_e b_e b_eᵀ on the vectors that
sum to zero, and b_e has +1 and -1 at the ends of edge e. This semidefinite program is solved
by following its central path. Each Newton step is a least-squares problem, so the optimum is
reached to eight digits where the normal equations would lose all of them; and each step yields
a feasible dual point, that is a lower bound no weights can beat.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from fmarl.errors import require
from fmarl.topology.graph import Graph, require_connected
from fmarl.topology.spectrum import best_step

MAX_AGENTS = 50
MAX_EDGES = 300  # with 50 agents: 2 s on one core, 8 s on a busy machine
GAP = 1e-8  # rounding of the certificate itself reaches 1e-9 on some graphs
FACTOR = 10.0  # measured: 4 and 30 need more Newton steps
MAX_STEPS = 100  # three times what the slowest graph of the tests needs

Matrix = Float[np.ndarray, "mode mode"]
Sides = Float[np.ndarray, "2 mode mode"]  # one matrix for tI - M >= 0, one for tI + M >= 0
SIGNS = np.array([1.0, -1.0])


class Fdla(NamedTuple):
    """Weights, what they leave of the disagreement, and what any weights must leave."""

    matrix: Float[np.ndarray, "agent agent"]
    attained: float
    lower_bound: float


class _Newton(NamedTuple):
    """A Newton step, and the dual point that comes with it."""

    direction: Float[np.ndarray, " unknown"]
    pace: float
    size: float
    dual: Sides


def fdla_matrix(graph: Graph) -> Fdla:
    """Symmetric W with the graph's zeros and rows that sum to one, of smallest ‖W - J‖₂.

    >>> from fmarl.topology import ring
    >>> best = fdla_matrix(ring(7))
    >>> round(best.attained, 4), best.attained - best.lower_bound < 1e-8
    (0.6694, True)
    """
    require_connected(graph)
    require(
        graph.num_agents <= MAX_AGENTS and graph.num_edges <= MAX_EDGES,
        f"FDLA on {graph.num_agents} agents and {graph.num_edges} edges",
        f"at most {MAX_AGENTS} agents and {MAX_EDGES} edges, for more takes too long",
        "Use the weights 'optimal' or 'chebyshev'.",
    )
    if graph.num_agents == 1:
        return Fdla(np.ones((1, 1)), 0.0, 0.0)
    incidence = _incidence(graph)
    weights, bound = _follow_central_path(_modes(graph.num_agents) @ incidence, best_step(graph))
    matrix = np.eye(graph.num_agents) - (incidence * weights) @ incidence.T
    attained = float(np.linalg.norm(matrix - 1.0 / graph.num_agents, 2))
    return Fdla(matrix, attained, min(bound, attained))


def _follow_central_path(
    edges: Float[np.ndarray, "mode edge"], start: float
) -> tuple[Float[np.ndarray, " edge"], float]:
    """Weights within GAP of the best ones, and a bound on the best ones."""
    num_modes, num_edges = edges.shape
    weights = best = np.full(num_edges, start)
    attained, bound = _norm(edges, weights), 0.0
    level = 1.1 * attained + 0.1  # t: strictly above the norm, as an interior point must be
    sharpness = 2 * num_modes / level
    dual = np.stack([np.eye(num_modes) / (2 * num_modes)] * 2)  # feasible, if useless
    for _ in range(MAX_STEPS):
        only_rounding_left = num_modes / sharpness < GAP / 100
        if only_rounding_left or attained - bound < GAP:
            break
        step = _newton_step(edges, weights, level, sharpness, dual)
        if step.size < 0.9:  # below 1 the new dual point is positive semidefinite
            dual = step.dual
            bound = max(bound, _certified_bound(edges, dual))
        weights = weights + step.pace * step.direction[:-1]
        level += step.pace * step.direction[-1]
        if _norm(edges, weights) < attained:
            attained, best = _norm(edges, weights), weights
        sharpness *= FACTOR if step.size < 0.9 else 1.0
    return best, bound


def _newton_step(
    edges: Float[np.ndarray, "mode edge"],
    weights: Float[np.ndarray, " edge"],
    level: float,
    sharpness: float,
    dual: Sides,
) -> _Newton:
    """Newton's step for  sharpness·t - log det(tI - M) - log det(tI + M)  as least squares.

    Both sides are diagonal in the eigenvectors of M. Scaled by their inverse roots, the
    barrier's Hessian is GᵀG, and a feasible dual point turns the gradient into Gᵀ(…) too.
    """
    num_modes = len(edges)
    eigenvalues, basis = np.linalg.eigh(_reduced(edges, weights))
    roots = 1.0 / np.sqrt(level - SIGNS[:, None] * eigenvalues)
    scale = roots[:, :, None] * roots[:, None, :]
    gradient = _scaled_gradient(basis.T @ edges, roots)
    offset = np.eye(num_modes) - sharpness * (basis.T @ dual @ basis) / scale
    direction = np.linalg.lstsq(gradient, offset.ravel(), rcond=1e-14)[0]
    move = (gradient @ direction).reshape(2, num_modes, num_modes)
    new_dual = basis @ ((np.eye(num_modes) - move) * scale) @ basis.T / sharpness
    symmetric = (new_dual + new_dual.swapaxes(1, 2)) / 2
    pace = _best_pace(np.linalg.eigvalsh(move).ravel(), sharpness * direction[-1])
    return _Newton(direction, pace, float(np.linalg.norm(move)), symmetric)


def _best_pace(moves: Float[np.ndarray, " move"], slope: float) -> float:
    """How far to go: the p that minimises  slope·p - Σ log(1 + p·move), by bisection."""
    low, high = 0.0, 1.0 / max(float(-moves.min()), 0.25)  # beyond it a side turns negative
    for _ in range(30):
        middle = (low + high) / 2
        rising = slope > np.sum(moves / (1.0 + middle * moves))
        low, high = (low, middle) if rising else (middle, high)
    return low


def _scaled_gradient(
    edges: Float[np.ndarray, "mode edge"], roots: Float[np.ndarray, "2 mode"]
) -> Float[np.ndarray, "entry unknown"]:
    """How both scaled sides change with each weight and, last column, with t."""
    num_modes, num_edges = edges.shape
    scaled = roots[:, :, None] * edges
    by_weight = SIGNS[:, None, None, None] * scaled[:, :, None, :] * scaled[:, None, :, :]
    by_level = np.eye(num_modes) * roots[:, :, None] ** 2
    columns = by_weight.reshape(-1, num_edges), by_level.reshape(-1, 1)
    return np.concatenate(columns, axis=1)


def _certified_bound(edges: Float[np.ndarray, "mode edge"], dual: Sides) -> float:
    """Return a norm that no weights go below, by weak duality.

    For the best weights 0 <= <X, tI - M> + <Y, tI + M>, hence
    t tr(X + Y) >= tr(X - Y) - Σ_e w_e b_eᵀ(X - Y)b_e. The last sum is zero up to rounding;
    it is counted at its worst, with |w_e| = |W_il| <= ‖W - J‖ + 1/m <= 3/2.
    """
    difference = dual[0] - dual[1]
    rounding = 1.5 * np.abs(np.sum(edges * (difference @ edges), axis=0)).sum()
    return float((np.trace(difference) - rounding) / np.trace(dual[0] + dual[1]))


def _reduced(edges: Float[np.ndarray, "mode edge"], weights: Float[np.ndarray, " edge"]) -> Matrix:
    return np.eye(len(edges)) - (edges * weights) @ edges.T


def _norm(edges: Float[np.ndarray, "mode edge"], weights: Float[np.ndarray, " edge"]) -> float:
    return float(np.linalg.norm(_reduced(edges, weights), 2))


def _incidence(graph: Graph) -> Float[np.ndarray, "agent edge"]:
    matrix = np.zeros((graph.num_agents, graph.num_edges))
    for column, (i, j) in enumerate(graph.edges):
        matrix[i, column], matrix[j, column] = 1.0, -1.0
    return matrix


def _modes(num_agents: int) -> Float[np.ndarray, "mode agent"]:
    """Orthonormal rows that span the vectors whose entries sum to zero."""
    start = np.eye(num_agents)
    start[:, 0] = 1.0
    return np.linalg.qr(start)[0][:, 1:].T
