"""A Gaussian squashed by tanh: actions between −1 and 1 whose probability is known exactly.

Log-probabilities are per number of an action; their sum belongs to the whole action.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fmarl.algorithms.log_std import log_std_of

Numbers = Float[Array, "*batch action"]


class Squashed(NamedTuple):
    """The Gaussian before squashing."""

    mean: Numbers
    log_std: Numbers


def squashed(network_outputs: Float[Array, "*batch heads"]) -> Squashed:
    """Read the first half of a network's outputs as means, the second half as widths."""
    mean, width = jnp.split(network_outputs, 2, axis=-1)
    return Squashed(mean, log_std_of(jnp.tanh(width)))


def draw(policy: Squashed, noise: Numbers) -> tuple[Numbers, Numbers]:
    """Actions for standard normal noise, and their log-probabilities; both carry gradients."""
    before = policy.mean + jnp.exp(policy.log_std) * noise
    return jnp.tanh(before), _log_density(noise, policy.log_std, before)


def _log_density(noise: Numbers, log_std: Numbers, before: Numbers) -> Numbers:
    gaussian = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi)
    return gaussian - _log_slope(before)


def _log_slope(before: Numbers) -> Numbers:
    """log(1 − tanh² x) in a form that neither cancels nor overflows, however large x."""
    return 2 * (math.log(2) - before - jax.nn.softplus(-2 * before))
