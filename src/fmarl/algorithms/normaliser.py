"""Running mean and spread of what an agent has seen, to give its networks inputs of one size.

Acting folds the statistics into the first layer, so workers need not know of them. That is why
observations are *not* clipped to ±10 after normalising, as the reference implementations do:
clipping can not be folded, and learning must see what acting saw.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from fmarl.algorithms.algorithm import Tree
from fmarl.algorithms.networks import Network

SMALLEST_STD = 1e-2
"""An input that hardly ever changed is divided by this: nothing else would bound it if it did."""


class Statistics(eqx.Module):
    """Of all rows seen so far; a leading agent axis for those of several agents."""

    count: Float[Array, "*agent"]
    mean: Float[Array, "*agent observation"]
    squares: Float[Array, "*agent observation"]
    """Sum of squared deviations from the mean (Welford's M2)."""


def no_statistics(observation_size: int) -> Statistics:
    """Return those of nothing: mean 0, standard deviation 1."""
    zeros = jnp.zeros(observation_size, jnp.float32)
    return Statistics(jnp.zeros((), jnp.float32), zeros, zeros)


def standard_deviation(statistics: Statistics) -> Float[Array, " observation"]:
    """Spread of each input, 1 before anything was seen, and never tiny."""
    variance = statistics.squares / _divisor(statistics.count)
    spread = jnp.maximum(jnp.sqrt(variance), SMALLEST_STD)
    return jnp.where(statistics.count > 0, spread, 1.0)


def normalise(
    statistics: Statistics | None, observation: Float[Array, "time observation"]
) -> Float[Array, "time observation"]:
    """Shift and scale every input; without statistics nothing changes."""
    if statistics is None:
        return observation
    mean, std = statistics.mean, standard_deviation(statistics)
    shape = observation.shape
    return (observation - jnp.broadcast_to(mean, shape)) / jnp.broadcast_to(std, shape)


def fold(statistics: Statistics | None, network: Network) -> Network:
    """Return a network that does with raw observations what the given one does with normalised."""
    if statistics is None:
        return network
    first = network.weights[0] / standard_deviation(statistics)[:, None]
    bias = network.biases[0] - statistics.mean @ first
    return Network((first, *network.weights[1:]), (bias, *network.biases[1:]))


def seen(
    statistics: Statistics,
    observation: Float[Array, "time observation"],
    present: Bool[Array, " time"],
) -> Statistics:
    """Take in a slot's rows, those in which the agent was there."""
    weight = jnp.broadcast_to(present[:, None], observation.shape).astype(observation.dtype)
    count = jnp.sum(present.astype(observation.dtype))
    mean = jnp.sum(observation * weight, axis=0) / _divisor(count)
    deviation = (observation - jnp.broadcast_to(mean, observation.shape)) * weight
    return _merged(statistics, Statistics(count, mean, jnp.sum(deviation**2, axis=0)))


def pooled(statistics: Statistics, average: Callable[[Tree], Tree]) -> Statistics:
    """Statistics of all agents' rows together, given to every agent that takes part.

    The counts become their average, so that whatever agents share is counted once between them
    when they meet again. Exact where `average` gives all who meet the same row.
    """
    weight = statistics.count[:, None]
    count, total = average((weight, weight * statistics.mean))
    mean = total / _divisor(count)
    squares = average(statistics.squares + weight * (statistics.mean - mean) ** 2)
    return Statistics(count[:, 0], mean, squares)


def _merged(one: Statistics, other: Statistics) -> Statistics:
    """Statistics of both sets of rows, by the formula of Chan, Golub and LeVeque (1979)."""
    count = one.count + other.count
    share = other.count / _divisor(count)
    shift = other.mean - one.mean
    squares = one.squares + other.squares + shift**2 * (one.count * share)
    return Statistics(count, one.mean + shift * share, squares)


def _divisor(count: Float[Array, "..."]) -> Float[Array, "..."]:
    """Not zero; a count may be a fraction once it was averaged."""
    return jnp.where(count > 0, count, 1.0)
