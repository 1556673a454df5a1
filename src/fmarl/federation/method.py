"""A method is data: who learns how long, whom they trust, with whom they mix, and what is averaged.

The same record is trained with (`update.py`), billed (`ledger.py`) and bounded (`Method.plan`), so
the three can not drift apart. Its arrays are traced when an update is compiled: methods of the same
shapes share one program (`padded` makes shapes equal).
"""

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float, Int

from fmarl.errors import BadInput, require
from fmarl.federation.robust import ROBUST
from fmarl.theory.plan import Plan, make_plan


class Attack(eqx.Module):
    """Who lies about what it found, and how; `attack.py` says what is sent instead."""

    attackers: Bool[np.ndarray, " agent"]
    factor: Float[np.ndarray, ""]
    """What a found step is multiplied with."""
    noise: Float[np.ndarray, ""]
    """Standard deviation of what is added to it instead; 0 for none."""


class Method(eqx.Module):
    """How agents learn together.

    Entries of the axes `period`, `cycle` and `turn` are used one per period, then again from the
    first.
    """

    learning_rate: Float[np.ndarray, ""]
    """η: step size of every agent."""
    sync_period: Int[np.ndarray, ""]
    """τ: slots between two averagings."""
    local_updates: Int[np.ndarray, "period agent"]
    """τ_i: updates that each agent finishes in a period; 0 for an agent that is away."""
    decay: Float[np.ndarray, " slot"]
    """D: trust in the gradient of slot y = 0 … τ−1. Entries past τ are padding."""
    consensus_rounds: Int[np.ndarray, ""]
    """E: exchanges with neighbours before each update."""
    mixing: Float[np.ndarray, "round agent agent"]
    """W_1 … W_E: symmetric, rows sum to one. Matrices past E are padding."""
    groups: Int[np.ndarray, "cycle agent"]
    """Who averages with whom at the end of a period: agents of the same number, 0 … m−1. All zero:
    the virtual agent. 0 … m−1: each alone, independent learning."""
    counted: Float[np.ndarray, "turn agent"]
    """How much each agent counts in its group's average; a group without counts stays as it is."""
    edge_agents: Int[np.ndarray, " agent"]
    """The edge virtual agent that each agent sends to, by number. All zero: there is but one. Where
    agents of several are averaged together, the edges send on to a root."""
    attack: Attack | None = None
    """Who lies; None if all are honest."""
    uplink_delay: int = eqx.field(static=True, default=0)
    """Slots that a gradient travels to the virtual agent."""
    downlink_delay: int = eqx.field(static=True, default=0)
    """Slots that parameters travel back."""
    adopt_every: int = eqx.field(static=True, default=1)
    """Slots between two adoptions of what has arrived; used with delays only."""
    aggregate: str = eqx.field(static=True, default="mean")
    """What the virtual agent makes of the rows: the mean, or a rule of `robust.ROBUST`."""
    tolerated: int = eqx.field(static=True, default=0)
    """f: liars that a robust rule is to withstand, where it asks."""
    renormalise: bool = eqx.field(static=True, default=False)
    """Whether an agent that is away is left out of the average, rather than a step of zero in it.
    `absence.without` reads it; here `counted` says the same of agents known to be away."""

    def __check_init__(self) -> None:
        _check_shapes(self)
        _check_schedule(self)
        _check_average(self)
        _check_rule(self)
        _check_delays(self)
        # The rest is what every plan must satisfy; idle agents are allowed here, not there.
        make_plan(
            sync_period=int(self.sync_period),
            num_agents=self.num_agents,
            decay=self.decay[: int(self.sync_period)].astype(float),
            mixing=self.rounds,
            learning_rate=float(self.learning_rate),
        )

    @property
    def num_agents(self) -> int:
        """m: agents that take part."""
        return self.local_updates.shape[-1]

    @property
    def rounds(self) -> Float[np.ndarray, "round agent agent"]:
        """The mixing matrices in use, without padding."""
        return self.mixing[: int(self.consensus_rounds)].astype(float)

    @property
    def averages_all(self) -> bool:
        """Whether there is always one average, in which all agents count the same."""
        together = self.groups == self.groups[:, :1]
        return bool(together.all() and (self.counted == 1).all())

    @property
    def is_delayed(self) -> bool:
        """Whether messages to and from the virtual agent take time."""
        return self.uplink_delay > 0 or self.downlink_delay > 0 or self.adopt_every > 1

    def plan(self, total_updates: int) -> Plan:
        """The method as the theory sees it: what bounds and costs are computed from.

        Raises `BadInput` for methods that no bound covers: delays, agents that come and go or lie,
        and whatever is not the mean of all agents.
        """
        fixed = len(self.local_updates) == 1 and bool((self.local_updates >= 1).all())
        honest = self.attack is None and self.aggregate == "mean"
        if not (fixed and honest and self.averages_all and not self.is_delayed):
            raise BadInput(
                "this method has no bound: bounds need one schedule of τ_i >= 1, no delays, no "
                "attack and the mean of all agents. Compare it by its measured gradient norm."
            )
        return make_plan(
            sync_period=int(self.sync_period),
            local_updates=self.local_updates[0].astype(int),
            decay=self.decay[: int(self.sync_period)].astype(float),
            mixing=self.rounds,
            learning_rate=float(self.learning_rate),
            total_updates=float(total_updates),
        )


def make_method(
    num_agents: int,
    *,
    learning_rate: float = 1e-4,
    sync_period: int = 1,
    local_updates: Int[np.ndarray, "... agent"] | None = None,
    decay: Float[np.ndarray, " slot"] | None = None,
    mixing: Float[np.ndarray, "round agent agent"] | None = None,
    groups: Int[np.ndarray, "... agent"] | None = None,
    counted: Float[np.ndarray, "... agent"] | None = None,
    edge_agents: Int[np.ndarray, " agent"] | None = None,
    attack: Attack | None = None,
    uplink_delay: int = 0,
    downlink_delay: int = 0,
    adopt_every: int = 1,
    aggregate: str = "mean",
    tolerated: int = 0,
    renormalise: bool = False,
) -> Method:
    """A method from the parts that differ from synchronous averaging; the rest is filled in.

    >>> method = make_method(3, sync_period=2)
    >>> method.local_updates.tolist(), method.decay.tolist(), int(method.consensus_rounds)
    ([[2, 2, 2]], [1.0, 1.0], 0)
    """
    require(num_agents >= 1, f"num_agents = {num_agents}", "1 or more", "Use 7, say.")
    require(sync_period >= 1, f"sync_period = {sync_period}", "1 or more", "Use 15, say.")
    if local_updates is None:
        local_updates = np.full((1, num_agents), sync_period)
    mixing = np.zeros((0, num_agents, num_agents)) if mixing is None else mixing
    groups = np.zeros(num_agents, int) if groups is None else groups
    counted = np.ones(num_agents) if counted is None else counted
    edge_agents = np.zeros(num_agents, int) if edge_agents is None else edge_agents
    return Method(
        learning_rate=np.asarray(learning_rate, float),
        sync_period=np.asarray(sync_period, np.int32),
        local_updates=np.atleast_2d(local_updates).astype(np.int32),
        decay=np.ones(sync_period) if decay is None else decay,
        consensus_rounds=np.asarray(len(mixing), np.int32),
        mixing=mixing,
        groups=np.atleast_2d(groups).astype(np.int32),
        counted=np.atleast_2d(counted).astype(float),
        edge_agents=edge_agents.astype(np.int32),
        attack=attack,
        uplink_delay=uplink_delay,
        downlink_delay=downlink_delay,
        adopt_every=adopt_every,
        aggregate=aggregate,
        tolerated=tolerated,
        renormalise=renormalise,
    )


def padded(method: Method, slots: int, rounds: int) -> Method:
    """The same method with longer arrays, so that it shares a compiled update with others.

    >>> method = padded(make_method(3, sync_period=2), slots=15, rounds=2)
    >>> method.decay.shape, method.mixing.shape, int(method.consensus_rounds)
    ((15,), (2, 3, 3), 0)
    """
    more_slots = max(slots - len(method.decay), 0)
    more_rounds = max(rounds - len(method.mixing), 0)
    identities = np.tile(np.eye(method.num_agents), (more_rounds, 1, 1))
    return eqx.tree_at(
        lambda record: (record.decay, record.mixing),
        method,
        (
            np.concatenate([method.decay, np.zeros(more_slots)]),
            np.concatenate([method.mixing, identities]),
        ),
    )


def _check_shapes(method: Method) -> None:
    agents = method.num_agents
    mixed, grouped, counted = (
        array.shape[1:] for array in (method.mixing, method.groups, method.counted)
    )
    lists = [method.edge_agents, *([method.attack.attackers] if method.attack else [])]
    fit = all(shape == (agents,) for shape in (grouped, counted, *(one.shape for one in lists)))
    require(
        mixed == (agents, agents) and fit,
        f"mixing, groups and counted of shapes {mixed}, {grouped}, {counted}",
        f"{agents} agents in each, as many as there are τ_i",
        "Make all for the same number of agents.",
    )
    slots, rounds = int(method.sync_period), int(method.consensus_rounds)
    require(
        len(method.decay) >= slots and len(method.mixing) >= rounds,
        f"{len(method.decay)} decay weights and {len(method.mixing)} mixing rounds",
        f"at least τ = {slots} and E = {rounds}",
        "Give one for each.",
    )


def _check_schedule(method: Method) -> None:
    period, updates = int(method.sync_period), method.local_updates
    require(
        len(updates) >= 1 and bool(((updates >= 0) & (updates <= period)).all()),
        f"local_updates = {updates.tolist()!s:.60}",
        f"each from 0 to sync_period = {period}",
        "Lower them, or raise the sync period.",
    )
    require(
        bool((updates.max(axis=1) >= 1).all()),
        "a period in which nobody learns",
        "one agent or more with τ_i >= 1",
        "Let more agents take part.",
    )


def _check_average(method: Method) -> None:
    groups, counted = method.groups, method.counted
    require(
        len(groups) >= 1 and bool(((groups >= 0) & (groups < method.num_agents)).all()),
        f"groups = {groups.tolist()!s:.60}",
        f"numbers from 0 to {method.num_agents - 1}, one for each agent",
        "Use zeros for the virtual agent, 0, 1, 2 … for none.",
    )
    require(
        len(counted) >= 1 and bool((np.isfinite(counted) & (counted >= 0)).all()),
        f"counted = {counted.tolist()!s:.60}",
        "finite weights of 0 or more, one for each agent",
        "Use ones.",
    )


def _check_rule(method: Method) -> None:
    """A robust rule speaks of one group of equals, large enough for the liars it tolerates."""
    words, word = ["mean", *ROBUST], method.aggregate
    require(word in words, f"aggregate = {word!r:.40}", f"one of {', '.join(words)}", "Choose one.")
    if word == "mean":
        return
    require(
        method.averages_all and not method.renormalise,
        f"aggregate = {word} over groups, or over those present",
        "one virtual agent for all agents, each counted the same",
        "Use the mean, or leave out hierarchy and renormalise.",
    )
    liars, agents = method.tolerated, method.num_agents
    fewest = ROBUST[word].fewest_agents(liars)
    require(
        liars >= 0 and agents >= fewest,
        f"aggregate = {word} with {liars} bad agents tolerated among {agents}",
        f"{fewest} agents or more",
        "Tolerate fewer, or train more agents.",
    )


def _check_delays(method: Method) -> None:
    slots = (method.uplink_delay, method.downlink_delay, method.adopt_every - 1)
    require(
        all(0 <= delay <= 10_000 for delay in slots),
        f"delays {slots[:2]}, adopt_every = {method.adopt_every}",
        "0 to 10000 slots",
        "Give delays in slots.",
    )
    plain = int(method.sync_period) == 1 and method.averages_all
    require(
        not method.is_delayed or plain,
        f"delays with sync_period = {int(method.sync_period)}",
        "a virtual agent that steps in every slot (sync_period = 1) and averages all",
        "Leave out the delays or the period.",
    )
