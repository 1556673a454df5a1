"""How a policy chooses: a diagonal Gaussian for numbers, a categorical for choices, row by row."""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Rows = Float[Array, " time"]
Actions = Float[Array, "time action"]


class PolicyOutputs(NamedTuple):
    """What a policy intends to do in each row, before chance decides."""

    outputs: Float[Array, "time choice"]
    """Of the actor: means of a Gaussian, logits of a categorical."""
    log_std: Float[Array, " spread"]
    """Logarithm of the Gaussian's standard deviation, the same in every row; else empty."""


class Distribution(NamedTuple):
    """A family of distributions. Every function gives one number per row."""

    log_probability: Callable[[PolicyOutputs, Actions], Rows]
    """Logarithm of the density or probability of the actions taken."""
    entropy: Callable[[PolicyOutputs], Rows]
    """Expected −log-probability, in nats; negative for a narrow Gaussian."""
    divergence: Callable[[PolicyOutputs, PolicyOutputs], Rows]
    """Kullback–Leibler divergence KL(new ‖ old) of `(new, old)`: the expectation is over new."""


def _gaussian_log_probability(outputs: PolicyOutputs, action: Actions) -> Rows:
    deviation = (action - outputs.outputs) * _per_row(jnp.exp(-outputs.log_std), outputs)
    constant = jnp.sum(outputs.log_std) + 0.5 * math.log(2 * math.pi) * outputs.log_std.size
    return -0.5 * jnp.sum(deviation**2, axis=1) - constant


def _gaussian_entropy(outputs: PolicyOutputs) -> Rows:
    constant = 0.5 * math.log(2 * math.pi * math.e) * outputs.log_std.size
    return jnp.full(len(outputs.outputs), jnp.sum(outputs.log_std) + constant)


def _gaussian_divergence(new: PolicyOutputs, old: PolicyOutputs) -> Rows:
    narrowing = old.log_std - new.log_std
    spread = jnp.sum(narrowing + 0.5 * jnp.exp(-2 * narrowing) - 0.5)
    shift = (new.outputs - old.outputs) * _per_row(jnp.exp(-old.log_std), old)
    return spread + 0.5 * jnp.sum(shift**2, axis=1)


def _categorical_log_probability(outputs: PolicyOutputs, action: Actions) -> Rows:
    log_probabilities = jax.nn.log_softmax(outputs.outputs)
    choices = action[:, 0].astype(jnp.int32)
    # A product, for the backward pass of indexing scatters, which is slow on a CPU.
    taken = jax.nn.one_hot(choices, outputs.outputs.shape[1], dtype=log_probabilities.dtype)
    return jnp.sum(log_probabilities * taken, axis=1)


def _categorical_entropy(outputs: PolicyOutputs) -> Rows:
    log_probabilities = jax.nn.log_softmax(outputs.outputs)
    return -jnp.sum(jnp.exp(log_probabilities) * log_probabilities, axis=1)


def _categorical_divergence(new: PolicyOutputs, old: PolicyOutputs) -> Rows:
    log_new, log_old = jax.nn.log_softmax(new.outputs), jax.nn.log_softmax(old.outputs)
    return jnp.sum(jnp.exp(log_new) * (log_new - log_old), axis=1)


def _per_row(
    values: Float[Array, " spread"], outputs: PolicyOutputs
) -> Float[Array, "time choice"]:
    return jnp.broadcast_to(values, outputs.outputs.shape)


GAUSSIAN = Distribution(_gaussian_log_probability, _gaussian_entropy, _gaussian_divergence)
"""Independent components; the standard deviation does not depend on the observation."""

CATEGORICAL = Distribution(
    _categorical_log_probability, _categorical_entropy, _categorical_divergence
)
"""One of several choices; an action is a column that holds its index."""
