"""Arithmetic on rows, one row per agent: the only sums over agents that there are.

Up to `IN_ORDER` agents a sum runs in agent order, term by term, so that it gives the same bits
wherever it is computed; a missing neighbour is an exact zero. Past that a matrix product takes
over: it is faster, and its bits depend on the machine.
"""

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

IN_ORDER = 32
"""Most agents whose rows are added one after another."""

Rows = Float[Array, "agent parameter"]
Weights = Float[Array, "agent agent"]


def combine_rows(weights: Weights, rows: Rows) -> Rows:
    """Row i becomes Σ_l weights[i, l] rows[l], added in the order of l."""
    if len(rows) > IN_ORDER:
        return jnp.matmul(weights, rows, precision=jax.lax.Precision.HIGHEST)
    terms = (weights[:, agent, None] * rows[agent][None] for agent in range(len(rows)))
    return reduce(jnp.add, terms)


def average_rows(weights: Weights, rows: Rows) -> Rows:
    """Row i becomes the mean of the rows that its weights count.

    Dividing by the sum of the weights, rather than weighting with rounded shares, makes the average
    of equal rows come out equal, and leaves an agent that counts only itself untouched.
    """
    return combine_rows(weights, rows) / weights.sum(axis=1, keepdims=True)


def scale_rows(factors: Float[Array, " agent"], rows: Rows) -> Rows:
    """Multiply each row by its factor; a factor of zero also silences what is not a number."""
    return jnp.where(factors[:, None] == 0, jnp.zeros_like(rows), factors[:, None] * rows)


def keep_rows(chosen: Bool[Array, " agent"], new: Any, old: Any) -> Any:
    """Trees of rows: the new ones of the chosen agents, the old ones of the others."""
    return jax.tree.map(
        lambda one, other: jnp.where(chosen.reshape(-1, *[1] * (one.ndim - 1)), one, other),
        new,
        old,
    )


def finite_rows(tree: Any) -> Bool[Array, " agent"]:
    """Which agents have only finite numbers in a tree of rows."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    flags = [jnp.isfinite(leaf).reshape(len(leaf), -1).all(axis=1) for leaf in leaves]
    return reduce(jnp.logical_and, flags)


def average_tree(weights: Weights, tree: Any) -> Any:
    """Average a tree of rows, such as the target networks of all agents."""
    _, restore = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], tree))
    return jax.vmap(restore)(average_rows(weights, flat_rows(tree)))


def flat_rows(tree: Any) -> Rows:
    """A tree of rows as one matrix."""
    return jax.vmap(lambda one: ravel_pytree(one)[0])(tree)
