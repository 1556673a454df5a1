"""The inverse of the q-logarithm, which learning does not need and its tests do."""

import math

import jax
import jax.numpy as jnp


def q_exponential(x: jax.Array, entropic_index: float) -> jax.Array:
    """Inverse of the q-logarithm: exp_q x = max(0, 1 + (q−1) x)^(1/(q−1)).

    For q > 1 it is exactly zero below some x: a policy of this form never chooses such actions. For
    q < 1 it is infinite above some x.
    """
    order = entropic_index - 1
    if order == 0:
        return jnp.exp(x)
    inside = order * x > -1
    power = jnp.log1p(jnp.where(inside, order * x, 0.0)) / order
    return jnp.where(inside, jnp.exp(power), 0.0 if order > 0 else math.inf)
