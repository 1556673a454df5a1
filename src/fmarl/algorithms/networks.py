"""Multi-layer perceptrons as plain trees of arrays, the same layout that workers act with."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"tanh": jnp.tanh, "relu": jax.nn.relu}
HIDDEN_GAIN = 2**0.5
"""Orthogonal start of hidden layers, as in the reference implementations of PPO."""


class Network(NamedTuple):
    """Layer k maps by `weights[k]` (inputs × outputs) and `biases[k]`, then bends, but the last."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]


def init_network(key: PRNGKeyArray, sizes: tuple[int, ...], output_gain: float) -> Network:
    """Orthogonal weights and zero biases; a small output gain starts near zero.

    >>> network = init_network(jax.random.key(0), (6, 64, 2), output_gain=0.01)
    >>> [weights.shape for weights in network.weights]
    [(6, 64), (64, 2)]
    """
    keys = jax.random.split(key, len(sizes) - 1)
    gains = [HIDDEN_GAIN] * (len(sizes) - 2) + [output_gain]
    weights = tuple(
        jax.nn.initializers.orthogonal(gain)(layer_key, shape, jnp.float32)
        for layer_key, gain, shape in zip(keys, gains, itertools.pairwise(sizes), strict=True)
    )
    return Network(weights, tuple(jnp.zeros(size, jnp.float32) for size in sizes[1:]))


def forward(
    network: Network, activation: str, inputs: Float[Array, "*batch _"]
) -> Float[Array, "*batch _"]:
    """Forward pass, for any number of leading axes."""
    bend = ACTIVATIONS[activation]
    *hidden, (last_weights, last_biases) = zip(network.weights, network.biases, strict=True)
    values = inputs
    for weights, biases in hidden:
        values = bend(_affine(values, weights, biases))
    return _affine(values, last_weights, last_biases)


def _affine(values: Array, weights: Array, biases: Array) -> Array:
    product = values @ weights
    return product + jnp.broadcast_to(biases, product.shape)
