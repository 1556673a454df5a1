"""Mixing weights of your own: every agent keeps half and shares half, like a lazy random walk."""

import numpy as np
from jaxtyping import Float

from fmarl.topology import Graph, check_mixing, disagreement_left, metropolis_weights, ring


def lazy_weights(graph: Graph, consensus_rounds: int) -> Float[np.ndarray, "round agent agent"]:
    """Half of Metropolis: slower, but every eigenvalue is positive, so nothing overshoots."""
    return (np.eye(graph.num_agents) + metropolis_weights(graph, consensus_rounds)) / 2


if __name__ == "__main__":
    weights = lazy_weights(ring(7), 2)
    check_mixing(weights, ring(7))
    print(f"{disagreement_left(weights):.4f} of the disagreement is left after two rounds")
