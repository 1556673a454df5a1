"""Arithmetic on rows, one row per agent: the only sums over agents that there are.

Up to `IN_ORDER` agents every agent is computed as if it were alone, and a sum runs in agent order,
term by term: the bits are the same wherever it is computed, and a missing neighbour is an exact
zero. Past that, agents are mapped together and a matrix product takes over: faster, and the bits
depend on the machine and on how many there are.
"""

from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

IN_ORDER = 256
"""Most agents that are computed one after another."""
UNROLLED = 32
"""Most terms of a sum that are written out for the compiler; more are added in a loop."""

Row = Float[Array, " parameter"]
Rows = Float[Array, "agent parameter"]
Weights = Float[Array, "some agent"]


def combine_rows(weights: Weights, rows: Rows) -> Float[Array, "some parameter"]:
    """Row i becomes Σ_l weights[i, l] rows[l], added in the order of l; for some agents or all."""
    weights = jnp.asarray(weights, rows.dtype)
    if len(rows) > IN_ORDER:
        return jnp.matmul(weights, rows, precision=jax.lax.Precision.HIGHEST)

    def term(agent: Any) -> Array:
        return weights[:, agent, None] * rows[agent][None]

    if len(rows) <= UNROLLED:
        return reduce(jnp.add, map(term, range(len(rows))))
    return jax.lax.fori_loop(1, len(rows), lambda agent, total: total + term(agent), term(0))


def all_finite(tree: Any) -> Bool[Array, ""]:
    """Whether one agent's numbers are all finite."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return reduce(jnp.logical_and, [jnp.isfinite(leaf).all() for leaf in leaves])


def flat_rows(tree: Any) -> Rows:
    """A tree of rows as one matrix."""
    return jax.vmap(lambda one: ravel_pytree(one)[0])(tree)


def like_rows(tree: Any, rows: Rows) -> Any:
    """A matrix as the tree of rows from which `flat_rows` would make it."""
    _, restore = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], tree))
    return jax.vmap(restore)(rows)
