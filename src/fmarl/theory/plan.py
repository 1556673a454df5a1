"""What is chosen: how long agents learn alone, whom they trust, and with whom they mix."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fmarl.errors import require
from fmarl.theory.problem import LARGEST, Real, shown

MOST_SLOTS = 100_000
"""Of a period: each has a decay weight and a bound of its own."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A method as the theory sees it. Leading axes (`...`) run over settings and broadcast.

    The sync period τ, the number of agents m and the number of exchange rounds E are the lengths
    of the arrays, so they can not disagree with them.

    >>> plan = make_plan(num_agents=7, sync_period=15)
    >>> plan.sync_period, plan.num_agents, plan.consensus_rounds
    (15, 7, 0)
    """

    learning_rate: Real
    """η: step size of every agent."""
    total_updates: Real
    """K: slots in the whole run (see `count_updates`)."""
    local_updates: Int[np.ndarray, "... agent"]
    """τ_i: updates that each agent finishes in a period."""
    decay: Float[np.ndarray, "... slot"]
    """D: trust in the gradient of slot y = 0 … τ−1 of a period."""
    mixing: Float[np.ndarray, "... round agent agent"]
    """W_1 … W_E: symmetric, rows sum to one; no rounds means no neighbour exchange."""

    def __post_init__(self) -> None:
        _check_schedule(self)
        _check_decay(self.decay)
        _check_mixing(self.mixing, self.num_agents)
        require(
            bool(np.all(self.disagreement_left <= 1 + 1e-9)),
            f"mixing that leaves {shown(self.disagreement_left)} times the disagreement",
            "at most 1 after all rounds",
            "Use smaller steps.",
        )

    @property
    def sync_period(self) -> int:
        """τ: slots between two averagings."""
        return self.decay.shape[-1]

    @property
    def num_agents(self) -> int:
        """m: agents that take part."""
        return self.local_updates.shape[-1]

    @property
    def consensus_rounds(self) -> int:
        """E: exchanges with the neighbours before each update."""
        return self.mixing.shape[-3]

    @cached_property
    def active(self) -> Bool[np.ndarray, "... slot agent"]:
        """Who has finished a step in a slot: the indicator I(τ_i > y).

        Paper: Eq. (11).  I(τ_i > y − t0)
        """
        return self.local_updates[..., None, :] > np.arange(self.sync_period)[:, None]

    @cached_property
    def active_share(self) -> Float[np.ndarray, "... slot"]:
        """a_y: share of the agents that are active in each slot."""
        return self.active.mean(axis=-1)

    @cached_property
    def mixed(self) -> Float[np.ndarray, "... agent agent"]:
        """W_E ⋯ W_1: what all rounds do together.

        Paper: Eq. (23).  G_E = P^E G_0 with P = I − ε La in every round; here any W_e.
        """
        product = np.eye(self.num_agents)
        for round_ in range(self.consensus_rounds):
            product = self.mixing[..., round_, :, :] @ product
        return product

    @cached_property
    def deviation(self) -> Float[np.ndarray, "... agent agent"]:
        """M = W_E ⋯ W_1 − J: what mixing leaves of the agents' differences."""
        return self.mixed - 1 / self.num_agents

    @cached_property
    def disagreement_left(self) -> Real:
        """Largest share of the agents' disagreement that survives the mixing; 1 without any.

        Paper: Eq. (26).  (1 − ε μ_2)^E.  Here the spectral norm ‖W_E ⋯ W_1 − J‖, for any weights.
        Differs from the paper: for P^E it is max(|1 − ε μ_2|, |1 − ε μ_m|)^E, because the
        fastest mode can overshoot (docs/paper-audit.md, E3).
        """
        if self.consensus_rounds == 0:
            return 1.0
        return np.linalg.norm(self.deviation, ord=2, axis=(-2, -1))


def make_plan(
    *,
    sync_period: int,
    num_agents: int | None = None,
    local_updates: Int[np.ndarray, "... agent"] | None = None,
    decay: Float[np.ndarray, "... slot"] | None = None,
    mixing: Float[np.ndarray, "... round agent agent"] | None = None,
    learning_rate: Real = 1e-4,
    total_updates: Real = 3000,
) -> Plan:
    """A plan from the parts that differ from plain periodic averaging; the rest is filled in.

    >>> make_plan(sync_period=3, num_agents=2).local_updates
    array([3, 3])
    """
    require_sync_period(sync_period)
    if local_updates is None:
        agents = 0 if num_agents is None else num_agents
        require(
            agents >= 1,
            f"num_agents = {agents}",
            "num_agents >= 1",
            "Give the number of learners, for example 7.",
        )
        local_updates = np.full(agents, sync_period)
    agents = local_updates.shape[-1]
    return Plan(
        learning_rate=learning_rate,
        total_updates=total_updates,
        local_updates=local_updates,
        decay=np.ones(sync_period) if decay is None else decay,
        mixing=np.empty((0, agents, agents)) if mixing is None else mixing,
    )


def require_sync_period(sync_period: int) -> None:
    """Refuse a period that has no slot, or so many that arrays over them fill the memory."""
    allowed = f"1 <= sync_period <= {MOST_SLOTS}"
    fits = 1 <= sync_period <= MOST_SLOTS
    require(fits, f"sync_period = {sync_period}", allowed, "Use 15, as the paper does.")


def exponential_decay(decay_rate: Real, sync_period: int) -> Float[np.ndarray, "... slot"]:
    """Trust a gradient less the longer its agent has drifted from the average.

    Paper: Eq. (21).  D(y) = λ^(y/2),  0 < λ <= 1.  λ = 1 is plain averaging.
    Differs from the paper: y restarts at every period, as its own assumption A3 demands (E4).

    >>> exponential_decay(0.25, 3)
    array([1.  , 0.5 , 0.25])
    """
    require_sync_period(sync_period)
    require(
        bool(np.all((np.asarray(decay_rate) > 0) & (np.asarray(decay_rate) <= 1))),
        f"decay_rate = {shown(decay_rate)}",
        "0 < decay_rate <= 1",
        "Use 1 for no decay, or a rate such as 0.98.",
    )
    return np.asarray(decay_rate, float)[..., None] ** (np.arange(sync_period) / 2)


def count_updates(*, num_epochs: int, epoch_steps: int, steps_per_update: int) -> int:
    """How many updates a run makes.

    Paper: Eq. (10).  K = U T / P; an epoch that P does not divide ends with a short batch,
    so U ⌈T / P⌉.

    >>> count_updates(num_epochs=500, epoch_steps=1500, steps_per_update=250)
    3000
    """
    numbers = {"num_epochs": num_epochs, "epoch_steps": epoch_steps}
    for name, value in {**numbers, "steps_per_update": steps_per_update}.items():
        require(value >= 1, f"{name} = {value}", f"{name} >= 1", "Give a positive whole number.")
    return num_epochs * -(-epoch_steps // steps_per_update)


def _check_schedule(plan: Plan) -> None:
    for name, usual in {"learning_rate": "1e-4", "total_updates": "3000"}.items():
        value = getattr(plan, name)
        require(
            bool(np.all(np.greater(value, 0)) and np.all(np.less_equal(value, LARGEST))),
            f"{name} = {shown(value)}",
            f"0 < {name} <= {LARGEST:g}",
            f"Use {usual}, as the paper does.",
        )
    period = plan.sync_period
    require_sync_period(period)
    require(plan.num_agents >= 1, "num_agents = 0", "num_agents >= 1", "Give one τ_i per learner.")
    require(
        bool(np.all((plan.local_updates >= 1) & (plan.local_updates <= period))),
        f"local_updates = {shown(plan.local_updates)}",
        f"each from 1 to sync_period = {period}",
        "Lower them, raise the sync period, or leave idle agents out.",
    )
    require(
        bool(np.all(plan.local_updates.max(axis=-1) == period)),
        f"local_updates = {shown(plan.local_updates)}",
        f"the fastest agent fills the period, max = {period}",
        "Lower the sync period to the largest τ_i.",
    )


def _check_decay(decay: Float[np.ndarray, "... slot"]) -> None:
    falls = np.all(np.diff(decay, axis=-1) <= 0) and np.all(decay >= 0)
    require(
        bool(np.all(decay[..., 0] == 1) and falls),
        f"decay = {shown(decay)}",
        "it starts at 1 and never rises or turns negative (assumption A3)",
        "Divide by the first entry and sort.",
    )


def _check_mixing(mixing: Float[np.ndarray, "... round agent agent"], num_agents: int) -> None:
    require(
        mixing.shape[-2:] == (num_agents, num_agents),
        f"mixing of {mixing.shape[-1]} agents",
        f"as many as there are τ_i, {num_agents}",
        "Make both for the same number of agents.",
    )
    rows_sum_to_one = np.allclose(mixing.sum(axis=-1), 1, rtol=0, atol=1e-9)
    symmetric = np.allclose(mixing, np.swapaxes(mixing, -1, -2), rtol=0, atol=1e-9)
    require(
        bool(np.all(np.isfinite(mixing)) and rows_sum_to_one and symmetric),
        "mixing",
        "every round symmetric, finite, with rows that sum to 1",
        "Make it with fmarl.topology's weights.",
    )
