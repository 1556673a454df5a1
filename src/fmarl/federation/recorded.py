"""A method as a run writes it down: for the page and the report, which load no JAX.

What decides a run is its experiment in `run.json`; this is what the experiment came to, drawn
numbers and all, so that whoever looks at a run need not work it out again.
"""

from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from fmarl.theory.cost import Overheads, overheads_after
from fmarl.theory.plan import Plan, make_plan

if TYPE_CHECKING:
    from fmarl.federation.method import Method

NUMBERS = (
    "learning_rate",
    "sync_period",
    "consensus_rounds",
    "uplink_delay",
    "downlink_delay",
    "adopt_every",
)


@dataclass(frozen=True, kw_only=True)
class RecordedMethod:
    """How the agents of a run learn together."""

    num_agents: int
    learning_rate: float
    sync_period: int
    consensus_rounds: int
    uplink_delay: int
    downlink_delay: int
    adopt_every: int
    total_updates: int
    """K: slots that the run has."""
    updates_per_epoch: int
    local_updates: list[list[int]]
    """τ_i: a row per period, then again from the first."""
    decay: list[float]
    links: list[list[list[int | float]]]
    """Per round, who mixes with whom and how much: (i, l, weight) with i < l."""
    averages: str
    """Who counts in an average: all, some, groups (several averages, at some time or always) or
    none (independent learning)."""
    groups: list[list[int]] = field(default_factory=list)
    """Who averages with whom: a number per agent, a row per period, then again from the first."""
    edge_agents: list[int] = field(default_factory=list)
    """The edge virtual agent of each agent; empty without a hierarchy."""
    aggregate: str = "mean"
    tolerated: int = 0
    attackers: list[int] = field(default_factory=list)
    """Agents that lie about what they found."""
    attack_factor: float = 1.0
    attack_noise: float = 0.0

    @cached_property
    def mixing(self) -> Float[np.ndarray, "round agent agent"]:
        """W_1 … W_E."""
        rounds = np.zeros((len(self.links), self.num_agents, self.num_agents))
        for matrix, links in zip(rounds, self.links, strict=True):
            for first, second, weight in links:
                matrix[int(first), int(second)] = matrix[int(second), int(first)] = weight
            np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
        return rounds

    @cached_property
    def plan(self) -> Plan | None:
        """The method as the theory counts it; None with delays, or τ_i that it does not allow."""
        updates = np.array(self.local_updates)
        delayed = self.uplink_delay > 0 or self.downlink_delay > 0 or self.adopt_every > 1
        fixed = len(updates) == 1 and updates.min() >= 1 and updates.max() == self.sync_period
        if delayed or not fixed:
            return None
        return make_plan(
            sync_period=self.sync_period,
            local_updates=updates[0],
            decay=np.array(self.decay),
            mixing=self.mixing,
            learning_rate=self.learning_rate,
            total_updates=float(self.total_updates),
        )

    @property
    def is_bounded(self) -> bool:
        """Whether the bounds speak of it: as `Method.plan`."""
        honest = self.aggregate == "mean" and not self.attackers
        return self.plan is not None and self.averages == "all" and honest

    def expected(self, update_count: int) -> Overheads | None:
        """The closed form of what is done in so many slots; None if there is none."""
        if self.plan is None or self.averages in ("some", "groups"):
            return None
        counts = overheads_after(self.plan, update_count)
        alone = self.averages == "none" or self.num_agents == 1  # nobody to average with
        return counts._replace(uploads=0) if alone else counts


def describe_method(method: "Method", total_updates: int, updates_per_epoch: int) -> dict[str, Any]:
    """A method as plain data, which `read_method` takes.

    >>> from fmarl.federation.method import make_method
    >>> read_method(describe_method(make_method(2, sync_period=3), 30, 6)).local_updates
    [[3, 3]]
    """
    return {
        **{name: np.asarray(getattr(method, name)).item() for name in NUMBERS},
        "num_agents": method.num_agents,
        "total_updates": total_updates,
        "updates_per_epoch": updates_per_epoch,
        "local_updates": method.local_updates.tolist(),
        "decay": method.decay[: int(method.sync_period)].astype(float).tolist(),
        "links": [_links(matrix) for matrix in method.rounds],
        "averages": _who_counts(method),
        "groups": method.groups.tolist(),
        "edge_agents": method.edge_agents.tolist() if method.edge_agents.any() else [],
        "aggregate": method.aggregate,
        "tolerated": method.tolerated,
        **_attack(method),
    }


def read_method(facts: dict[str, Any]) -> RecordedMethod:
    """What `describe_method` has written."""
    names = [one.name for one in fields(RecordedMethod) if one.name in facts or _is_needed(one)]
    return RecordedMethod(**{name: facts[name] for name in names})


def _is_needed(part: Field) -> bool:
    """Whether all versions wrote it; what came later has a value for those that did not."""
    return part.default is MISSING and part.default_factory is MISSING


def _links(matrix: Float[np.ndarray, "agent agent"]) -> list[list[int | float]]:
    pairs: Int[np.ndarray, "link 2"] = np.argwhere(np.triu(matrix, k=1) != 0)
    return [[int(i), int(j), float(matrix[i, j])] for i, j in pairs]


def _who_counts(method: "Method") -> str:
    if method.averages_all:
        return "all"
    if bool((method.groups == method.groups[:, :1]).all()):
        return "some"
    alone = all(np.bincount(groups).max() == 1 for groups in method.groups)
    return "none" if alone else "groups"


def _attack(method: "Method") -> dict[str, Any]:
    if method.attack is None:
        return {}
    return {
        "attackers": np.flatnonzero(method.attack.attackers).tolist(),
        "attack_factor": method.attack.factor.item(),
        "attack_noise": method.attack.noise.item(),
    }
