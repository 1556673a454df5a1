"""What the virtual agent makes of its agents' rows when a period is over.

Time and memory are linear in the agents, Krum's time aside. Sums run in agent order, so that the
bits are the same wherever this is compiled: in an update, or alone in the virtual agent's process.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fmarl.federation.method import Attack, Method
from fmarl.federation.robust import COMBINE
from fmarl.federation.row_ops import Rows, flat_rows, like_rows

for _record in (Attack, Method):
    jax.tree_util.register_pytree_node_class(_record)


def aggregate_rows(method: Method, period: Int[Array, ""] | int, rows: Rows) -> Rows:
    """What each agent's row becomes at the end of a period; with delays, of what has arrived.

    Paper: Eqs. (11), (19) and (25).  θ̄ = (1/m) Σ_i θ_i after slot τ−1
    """
    if method.aggregate != "mean":
        row = COMBINE[method.aggregate](rows, method.tolerated)
        return jnp.broadcast_to(row, rows.shape)
    groups = jnp.asarray(method.groups)[period % len(method.groups)]
    counted = jnp.asarray(method.counted, rows.dtype)[period % len(method.counted)]
    return group_means(groups, counted, rows)


def aggregate_tree(method: Method, period: Int[Array, ""] | int, tree: Any) -> Any:
    """The same for a tree of rows, such as the target networks of all agents."""
    return like_rows(tree, aggregate_rows(method, period, flat_rows(tree)))


def group_means(groups: Int[Array, " agent"], counted: Float[Array, " agent"], rows: Rows) -> Rows:
    """Row i becomes the mean of its group's rows, each weighted by how much it counts.

    The mean is the first counted row plus the mean difference from it. So rows that are equal, and
    an agent alone, stay as they are to the last bit: a sum divided by m would round half of the
    numbers of 7 equal rows, and parameters would creep.
    """
    agents = jnp.arange(len(rows), dtype=groups.dtype)
    last = agents[-1]
    first = jax.ops.segment_min(jnp.where(counted > 0, agents, last), groups, len(rows))
    reference = rows[jnp.minimum(first, last)[groups]]
    apart = jnp.where(counted[:, None] > 0, counted[:, None] * (rows - reference), 0.0)
    totals, counts = _sums_in_order(groups, apart, counted)
    step = totals[groups] / counts[groups][:, None]
    means = jnp.where(step == 0, reference, reference + step)  # −0 + 0 would lose its sign
    return jnp.where(counts[groups][:, None] > 0, means, rows)


def _sums_in_order(
    groups: Int[Array, " agent"], rows: Rows, counted: Float[Array, " agent"]
) -> tuple[Rows, Float[Array, " agent"]]:
    """Sums of the rows and of the counts of each group, one agent after another."""

    def add(agent: Int[Array, ""], sums: tuple[Array, Array]) -> tuple[Array, Array]:
        totals, counts = sums
        group = groups[agent]
        return totals.at[group].add(rows[agent]), counts.at[group].add(counted[agent])

    return jax.lax.fori_loop(0, len(rows), add, (jnp.zeros_like(rows), jnp.zeros_like(counted)))
