"""What a graph's Laplacian says about speed: how fast neighbours can come to agree.

Symbols: 0 = μ_1 <= μ_2 <= … <= μ_m the eigenvalues of the Laplacian La, ε the consensus step,
E the number of rounds, J = 11ᵀ/m the exact mean, W_e the mixing matrix of round e.
"""

import math

import numpy as np
from jaxtyping import Float

from fmarl.topology.graph import Graph, components, require_connected


def laplacian_eigenvalues(graph: Graph) -> Float[np.ndarray, " agent"]:
    """Eigenvalues of the Laplacian, ascending; one exact zero for each connected part.

    Paper: App. F, eigenvalues of La.  0 = μ_1 <= μ_2 <= … <= μ_m.

    >>> from fmarl.topology import star
    >>> laplacian_eigenvalues(star(4)).round(12).tolist()
    [0.0, 1.0, 1.0, 4.0]
    """
    eigenvalues = np.linalg.eigvalsh(graph.laplacian)
    eigenvalues[: len(components(graph))] = 0.0  # else rounding noise of either sign
    return eigenvalues


def algebraic_connectivity(graph: Graph) -> float:
    """Second smallest eigenvalue of the Laplacian: 0 for a graph in parts.

    Paper: Section VI-B, remarks on T2.  0 < μ_2 <= Δ if connected, μ_2 = Δ only for complete
    graphs. One agent has no second eigenvalue and nobody to agree with: 0 by convention.

    >>> from fmarl.topology import path
    >>> round(algebraic_connectivity(path(5)), 6)
    0.381966
    """
    return float(laplacian_eigenvalues(graph)[:2][-1])


def largest_paper_step(graph: Graph) -> float:
    """Upper end, itself excluded, of the steps that the paper allows.

    Paper: Eq. (23).  The text after it has 0 < ε < 1/Δ,  Δ = max_i |Ω_i| + 1.

    >>> from fmarl.topology import path
    >>> round(largest_paper_step(path(5)), 6)
    0.333333
    """
    return 1.0 / (int(graph.degrees.max()) + 1)


def largest_contracting_step(graph: Graph) -> float:
    """Upper end, itself excluded, of the steps with which disagreement shrinks.

    |1 - ε μ_i| < 1 for all i >= 2 exactly if 0 < ε < 2/μ_m. Infinite for one agent, who agrees
    with himself at any step.
    Differs from the paper: its 1/Δ, after Eq. (23), is sufficient but not necessary
    (`test_steps_up_to_two_over_mu_m_contract`).
    """
    _, fastest = _extremes(graph)
    return 2.0 / fastest if graph.num_agents > 1 else math.inf


def best_step(graph: Graph) -> float:
    """Return the constant step that leaves the least disagreement; 1.0 for a single agent.

    ε* = 2 / (μ_2 + μ_m). It may exceed the paper's 1/Δ and still contracts.
    Differs from the paper: "a larger ε helps" ends here, for μ_m takes over (E3,
    `test_a_step_beyond_the_best_one_leaves_more_disagreement`).

    >>> from fmarl.topology import path
    >>> round(best_step(path(5)), 12)
    0.5
    """
    slowest, fastest = _extremes(graph)
    return 2.0 / (slowest + fastest) if graph.num_agents > 1 else 1.0


def best_contraction(graph: Graph) -> float:
    """Share of disagreement that one round at the best constant step leaves, at worst.

    ρ* = (μ_m - μ_2) / (μ_m + μ_2); 0 for complete graphs and for a single agent.

    >>> from fmarl.topology import ring
    >>> round(best_contraction(ring(7)), 4)
    0.6694
    """
    slowest, fastest = _extremes(graph)
    return (fastest - slowest) / (fastest + slowest) if graph.num_agents > 1 else 0.0


def disagreement_left(mixing: Float[np.ndarray, "round agent agent"]) -> float:
    """Largest share of the agents' disagreement that survives all rounds.

    Paper: Eq. (26).  There (1 - ε μ_2)^E; here ‖W_E ⋯ W_1 - J‖₂, for any weights.
    Differs from the paper: E3, for W = I - ε La this is max(|1 - ε μ_2|, |1 - ε μ_m|)^E, which
    is larger when ε > 2/(μ_2 + μ_m) (`test_on_k33_the_paper_promises_more_than_is_true`).

    >>> from fmarl.topology import constant_weights, ring
    >>> round(disagreement_left(constant_weights(ring(7), 0.1, 1)), 4)
    0.9247
    """
    num_agents = mixing.shape[-1]
    if len(mixing) == 0:
        return float(num_agents > 1)  # ‖I - J‖₂: all of it, or nobody to disagree
    product = mixing[0]
    for matrix in mixing[1:]:
        product = matrix @ product
    return float(np.linalg.norm(product - 1.0 / num_agents, 2))


def _extremes(graph: Graph) -> tuple[float, float]:
    """μ_2 and μ_m of a connected graph."""
    require_connected(graph)
    eigenvalues = laplacian_eigenvalues(graph)
    return float(eigenvalues[:2][-1]), float(eigenvalues[-1])
