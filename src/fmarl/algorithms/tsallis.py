"""Logarithm and entropy with an index q: Tsallis statistics.

Lee et al. 2019 (arXiv 1902.00137) have the definitions; their code passes 2 − q to functions of the
other convention, so compare with care. q = 1 is the ordinary logarithm and Shannon's entropy, q = 2
gives the sparse policies; the larger q, the less entropy counts.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

SMALLEST_DENSITY = 1e-6
"""Lower densities count as this one: for q < 1 their q-logarithm has no lower bound."""
LARGEST_POWER = 1e8
"""Higher powers x^(q−1) count as this one: a narrow density has no upper bound."""


def q_logarithm(
    log_density: Float[Array, "*batch"], entropic_index: float
) -> Float[Array, "*batch"]:
    """ln_q of a density x whose ordinary logarithm is given: ln_q x = (x^(q−1) − 1)/(q − 1).

    Computed as expm1((q−1) ln x)/(q−1): never as a power of x, which overflows, and never as a
    difference, which cancels near q = 1. Outside the two limits above it stands still, and so does
    its gradient; q = 1, where nothing can overflow, has no limits.

    >>> q_logarithm(jnp.log(jnp.array([0.5, 1.0, 4.0])), 2.0).round(5).tolist()
    [-0.5, 0.0, 3.0]
    """
    order = entropic_index - 1
    if order == 0:
        return log_density
    highest = math.log(LARGEST_POWER) / order if order > 0 else math.inf
    bounded = jnp.clip(log_density, math.log(SMALLEST_DENSITY), highest)
    return jnp.expm1(order * bounded) / order


def tsallis_entropy(
    log_density: Float[Array, " row"], weight: Float[Array, " row"], entropic_index: float
) -> Float[Array, ""]:
    """S_q = E[−ln_q π(a)], where each row counts with its weight; the weights sum to one.

    Rows may be all choices weighted by their probabilities, or samples of equal weight.

    >>> shares = jnp.array([0.5, 0.25, 0.25])
    >>> round(float(tsallis_entropy(jnp.log(shares), shares, 2.0)), 5)  # 1 − Σ π²
    0.625
    """
    return -jnp.sum(weight * q_logarithm(log_density, entropic_index))
