"""How much better than expected an action was: one estimator for every on-policy algorithm."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fmarl.algorithms.algorithm import Transitions

Rows = Float[Array, " time"]

ADVANTAGE_FLOOR = 1e-8
"""Added to the standard deviation when advantages are normalised, as in the references."""


def advantages(
    transitions: Transitions,
    values: Rows,
    successor_values: Rows,
    discount: float,
    gae_lambda: float,
) -> Rows:
    """Generalised advantage estimates; zero in rows in which the agent was absent.

    Paper: Section III, below Eq. (1).  A_t = −V(s_t) + r_t + γ r_{t+1} + … + γ^n V(s_{t+n})

    Here A_t = δ_t + γ λ A_{t+1} with δ_t = r_t + γ V(s_{t+1}) − V(s_t); λ = 1 is the paper's sum. A
    collision is followed by nothing, so nothing is bootstrapped after it; a time limit and the
    segment's end only stop the looking, so V stands for what would have followed.
    Differs from the paper: it sums to the end of the epoch, but an update has only P steps, so the
    sum ends with the segment.
    """
    present = transitions.present
    future = jnp.where(transitions.terminated, 0.0, discount * successor_values)
    surprises = jnp.where(present, transitions.reward + future - values, 0.0)
    goes_on = present & jnp.append(present[1:], False) & ~transitions.ended
    fading = jnp.where(goes_on, discount * gae_lambda, 0.0)
    return _faded_sums(surprises, fading)


def _faded_sums(values: Rows, fading: Rows) -> Rows:
    """Sums from the end: s_t = v_t + f_t s_{t+1}."""

    def add(later: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        value, factor = now
        total = value + factor * later
        return total, total

    _, sums = jax.lax.scan(add, jnp.zeros(()), (values, fading), reverse=True)
    return sums


def weighted_mean(values: Rows, weight: Rows) -> Float[Array, ""]:
    """Mean over the rows that count; zero if none does."""
    return jnp.sum(values * weight) / jnp.maximum(jnp.sum(weight), 1.0)


def normalised(values: Rows, weight: Rows) -> Rows:
    """Shift and scale the rows that count to mean 0 and (sample) standard deviation 1.

    A single row is left as it is: it would become zero.
    """
    count = jnp.sum(weight)
    centred = values - weighted_mean(values, weight)
    variance = jnp.sum(weight * centred**2) / jnp.maximum(count - 1.0, 1.0)
    return jnp.where(count > 1, centred / (jnp.sqrt(variance) + ADVANTAGE_FLOOR), values)
