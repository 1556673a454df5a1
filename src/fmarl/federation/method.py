"""A method is data: who learns how long, whom they trust, with whom they mix, and what is averaged.

The same record is trained with (`update.py`), billed (`ledger.py`), bounded (`method_theory.py`)
and written down (`method_file.py`), so these can not drift apart. No JAX here: `aggregation.py`,
the first compiled code that takes a method, registers it as a pytree whose arrays are traced.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

STATIC = frozenset(
    {"uplink_delay", "downlink_delay", "adopt_every", "aggregate", "tolerated", "renormalise"}
)
"""Fields that decide what is compiled; all others are traced."""


class _Traced:
    """What JAX asks of a record whose arrays are traced."""

    def tree_flatten(self) -> tuple[list[Any], tuple[Any, ...]]:
        values = vars(self)
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        traced = [values[name] for name in names if name not in STATIC]
        return traced, tuple(values[name] for name in names if name in STATIC)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], traced: Sequence[Any]) -> Any:
        """Made again from tracers, a record is checked by nobody."""
        record, parts = object.__new__(cls), (iter(traced), iter(static))
        for field in fields(cls):  # type: ignore[arg-type]
            vars(record)[field.name] = next(parts[field.name in STATIC])
        return record


@dataclass(frozen=True, eq=False)
class Attack(_Traced):
    """Who lies about what it found, and how; `robust.attacked` says what is sent instead."""

    attackers: Bool[np.ndarray, " agent"]
    factor: Float[np.ndarray, ""]
    """What a found step is multiplied with."""
    noise: Float[np.ndarray, ""]
    """Standard deviation of what is added to it instead; 0 for none."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Method(_Traced):
    """How agents learn together; `make_method.py` makes one and checks it.

    Entries of the axes `period`, `cycle` and `turn` are used one per period, then again from the
    first.
    """

    learning_rate: Float[np.ndarray, ""]
    """η: step size of every agent."""
    sync_period: Int[np.ndarray, ""]
    """τ: slots between two averagings."""
    local_updates: Int[np.ndarray, "period agent"]
    """τ_i: updates that each agent finishes in a period; 0 for an agent that is absent."""
    decay: Float[np.ndarray, " slot"]
    """D: trust in the gradient of slot y = 0 … τ−1."""
    mixing: Float[np.ndarray, "round agent agent"]
    """W_1 … W_E, for the exchanges before each update: symmetric, rows sum to one."""
    groups: Int[np.ndarray, "cycle agent"]
    """Who averages with whom at the end of a period: agents of the same number, 0 … m−1. All zero:
    the virtual agent. 0 … m−1: each alone, independent learning."""
    counted: Float[np.ndarray, "turn agent"]
    """How much each agent counts in its group's average; a group without counts stays as it is."""
    edge_agents: Int[np.ndarray, " agent"]
    """The edge virtual agent that each agent sends to, by number. All zero: there is but one. Where
    agents of several are averaged together, the edges send on to a root."""
    attack: Attack | None = None
    """The Byzantine agents; None if all are honest."""
    uplink_delay: int = 0
    """Slots that a gradient travels to the virtual agent."""
    downlink_delay: int = 0
    """Slots that parameters travel back."""
    adopt_every: int = 1
    """Slots between two adoptions of what has arrived; used with delays only."""
    aggregate: str = "mean"
    """What the virtual agent makes of the rows: the mean, or a rule of `robust.py`."""
    tolerated: int = 0
    """f: Byzantine agents that a robust rule is to withstand, where it asks."""
    renormalise: bool = False
    """Whether an absent agent is left out of the average, rather than a step of zero in it.
    `missing_agents.without` reads it; here `counted` says the same of agents known to be absent."""

    @property
    def num_agents(self) -> int:
        """m: agents that take part."""
        return self.local_updates.shape[-1]

    @property
    def consensus_rounds(self) -> int:
        """E: exchanges with neighbours before each update."""
        return len(self.mixing)

    @property
    def links(self) -> list[tuple[int, int]]:
        """Pairs of agents that exchange gradients in the first round, the lower number first."""
        pairs = np.argwhere(np.triu(self.mixing[0], k=1) != 0) if len(self.mixing) else []
        return [(int(first), int(second)) for first, second in pairs]

    @property
    def averages(self) -> str:
        """Who counts in an average: all (the same), some, groups or none.

        Groups are several averages, at some time or always; none is independent learning.
        """
        if bool((self.groups == self.groups[:, :1]).all()):
            return "all" if bool((self.counted[:, ~self.left_out] == 1).all()) else "some"
        alone = all(np.bincount(groups).max() == 1 for groups in self.groups)
        return "none" if alone else "groups"

    @property
    def left_out(self) -> Bool[np.ndarray, " agent"]:
        """Agents that never learn and never count: the paper has them not in m (its Eq. (6))."""
        return (self.local_updates == 0).all(axis=0) & (self.counted == 0).all(axis=0)

    @property
    def is_delayed(self) -> bool:
        """Whether messages to and from the virtual agent take time."""
        return self.uplink_delay > 0 or self.downlink_delay > 0 or self.adopt_every > 1
