"""Byzantine agents, and averages that a few of them can not drag anywhere.

A lie replaces the pseudo-gradient before decay, mask and mixing, so neighbours and the virtual
agent hear the same lie. What an attacker keeps for itself (its optimiser, its replay) is honest.

A rule takes the rows of all agents and gives one. Each has a limit: with at most f Byzantine agents
among m the result stays near what the honest ones found. None helps against more, and none tells
such an agent from an honest one with unusual data. Sums run in agent order or in that of the sorted
numbers. Numbers must be finite.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fmarl.federation.method import Method
from fmarl.federation.row_ops import Row, Rows

CLIPPINGS = 3
"""Steps of centred clipping; it has all but settled then."""
NOISE = 7
"""Folded into an agent's key, so that a lie draws nothing that learning draws."""


def attacked(method: Method, found: Row, agent: Int[Array, ""] | int, key: PRNGKeyArray) -> Row:
    """What an agent says it found: factor · g, or g + noise · N(0, 1), or g if it is honest."""
    attack: Any = method.attack
    if attack is None:
        return found
    drawn = jax.random.normal(jax.random.fold_in(key, NOISE), found.shape, found.dtype)
    lie = jnp.where(attack.noise > 0, found + attack.noise * drawn, attack.factor * found)
    return jnp.where(jnp.asarray(attack.attackers)[agent], lie, found)


def median(rows: Rows, tolerated: int = 0) -> Row:
    """The middle of every coordinate; honest as long as f < m/2."""
    ordered = jnp.sort(rows, axis=0)
    upper = ordered[len(rows) // 2]
    if len(rows) % 2 == 1:
        return upper
    return 0.5 * ordered[len(rows) // 2 - 1] + 0.5 * upper  # halves: a sum could overflow


def trimmed(rows: Rows, tolerated: int) -> Row:
    """The mean of every coordinate without its f lowest and f highest numbers; needs 2f < m."""
    kept = jnp.sort(rows, axis=0)[tolerated : len(rows) - tolerated]
    mean = kept[0] + _sum_in_order(kept - kept[:1]) / len(kept)
    return jnp.clip(mean, kept[0], kept[-1])  # rounding may not leave the hull either


def centred_clip(rows: Rows, tolerated: int = 0) -> Row:
    """The mean after rows that lie far out were pulled in to a radius; honest for f < m/2.

    Paper: none.  v ← v + (1/m) Σ_i min(1, r/‖θ_i − v‖) (θ_i − v), of Karimireddy, He and Jaggi,
    ICML 2021. Theirs starts from the last result and is given r; ours remembers nothing: it starts
    at the coordinate median, and r is the median distance of the rows from there.
    """
    centre = median(rows)
    radius = median(_distances(rows, centre)[:, None])[0]
    for _ in range(CLIPPINGS):
        distances = _distances(rows, centre)
        share = jnp.where(distances > radius, radius / distances, 1.0)
        centre = centre + _sum_in_order(share[:, None] * (rows - centre[None])) / len(rows)
    return centre


def krum(rows: Rows, tolerated: int) -> Row:
    """The row whose m − f − 2 nearest others are nearest, the first of several; needs m >= 2f + 3.

    Paper: none.  argmin_i Σ_l ‖θ_i − θ_l‖² over those, of Blanchard, El Mhamdi, Guerraoui and
    Stainer, NIPS 2017. Time is quadratic in m.
    """
    others = len(rows) - tolerated - 2

    def score(row: Row) -> Float[Array, ""]:
        nearest_first = jnp.sort(jnp.square(_distances(rows, row)))
        return _sum_in_order(nearest_first[: others + 1, None])[0]  # the first is itself, at 0

    return rows[jnp.argmin(jax.lax.map(score, rows))]


COMBINE: dict[str, Callable[[Rows, int], Row]] = {
    "median": median,
    "trimmed": trimmed,
    "centred-clip": centred_clip,
    "krum": krum,
}
"""From a word of `method.ROBUST` to `(rows, tolerated)` and the row that all agents get."""


def _distances(rows: Rows, centre: Row) -> Float[Array, " agent"]:
    return jnp.sqrt(jnp.sum(jnp.square(rows - centre[None]), axis=1))


def _sum_in_order(rows: Rows) -> Row:
    return jax.lax.fori_loop(1, len(rows), lambda agent, total: total + rows[agent], rows[0])
