"""Agents that lie: what they send instead of what they found, to see what an average withstands.

A lie replaces the pseudo-gradient before decay, mask and mixing, so neighbours and the virtual
agent hear the same lie. What an attacker keeps for itself (its optimiser, its replay) is honest.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from fmarl.errors import BadInput, require
from fmarl.federation.method import Attack, Method
from fmarl.federation.row_ops import Row

ATTACKS = {
    "sign-flip": "sign-flip:F or sign-flip:F:SIZE",
    "scale": "scale:F:SIZE",
    "noise": "noise:F:STD",
}
"""From the word of the command line to how it is written; F is the number of attackers."""
NOISE = 7
"""Folded into an agent's key, so that a lie draws nothing that learning draws."""


def read_attack(text: str, num_agents: int) -> Attack | None:
    """The attack that a text describes, by the last F agents; None for an empty text.

    >>> attack = read_attack("sign-flip:2:10", num_agents=5)
    >>> attack.attackers.tolist(), float(attack.factor)
    ([False, False, False, True, True], -10.0)
    """
    if not text:
        return None
    kind, *numbers = text.split(":")
    lengths = {"sign-flip": (1, 2), "scale": (2,), "noise": (2,)}.get(kind, ())
    forms = ", ".join(ATTACKS.values())
    require(len(numbers) in lengths, f"attack = {text!r:.40}", forms, "Write sign-flip:1:10, say.")
    liars, size = _numbers(text, numbers)
    require(
        1 <= liars < num_agents,
        f"attack = {text!r:.40} of {liars} among {num_agents} agents",
        f"1 to {num_agents - 1} attackers",
        "Leave an honest agent.",
    )
    factor = {"sign-flip": -size, "scale": size, "noise": 1.0}[kind]
    return Attack(
        attackers=np.arange(num_agents) >= num_agents - liars,
        factor=np.asarray(factor, float),
        noise=np.asarray(size if kind == "noise" else 0.0, float),
    )


def attacked(method: Method, found: Row, agent: Int[Array, ""] | int, key: PRNGKeyArray) -> Row:
    """What an agent says it found: factor · g, or g + noise · N(0, 1), or g if it is honest."""
    attack: Any = method.attack
    if attack is None:
        return found
    drawn = jax.random.normal(jax.random.fold_in(key, NOISE), found.shape, found.dtype)
    lie = jnp.where(attack.noise > 0, found + attack.noise * drawn, attack.factor * found)
    return jnp.where(jnp.asarray(attack.attackers)[agent], lie, found)


def _numbers(text: str, numbers: Sequence[str]) -> tuple[int, float]:
    """How many attackers, and how strong; 1 if it is not said."""
    try:
        liars, size = int(numbers[0]), float(numbers[1]) if len(numbers) == 2 else 1.0
    except ValueError:
        raise BadInput(
            f"attack = {text!r:.40}: numbers only after the word. Write scale:1:100."
        ) from None
    strong = 0 < size <= 1e6
    require(strong, f"attack = {text!r:.40}", "a size over 0, up to 1e6", "Write scale:1:100, say.")
    return liars, size
