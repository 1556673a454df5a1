"""A method from the parts that differ from synchronous averaging, and what no method may be."""

import numpy as np
from jaxtyping import Float, Int

from fmarl.errors import require, require_word
from fmarl.federation.method import Attack, Method
from fmarl.theory.plan import make_plan, require_sync_period

ROBUST = {"median": 1, "trimmed": 1, "centred-clip": 1, "krum": 3}
"""Rules against Byzantine agents (`robust.py`), and agents that each needs beside 2f of them."""
TOLERATING = ("trimmed", "krum")
"""Rules that are told f."""


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
    >>> method.local_updates.tolist(), method.decay.tolist(), method.consensus_rounds
    ([[2, 2, 2]], [1.0, 1.0], 0)
    """
    require(num_agents >= 1, f"num_agents = {num_agents}", "1 or more", "Use 7, say.")
    require_sync_period(sync_period)
    if local_updates is None:
        local_updates = np.full((1, num_agents), sync_period)
    mixing = np.zeros((0, num_agents, num_agents)) if mixing is None else mixing
    groups = np.zeros(num_agents, int) if groups is None else groups
    counted = np.ones(num_agents) if counted is None else counted
    edge_agents = np.zeros(num_agents, int) if edge_agents is None else edge_agents
    method = Method(
        learning_rate=np.asarray(learning_rate, float),
        sync_period=np.asarray(sync_period, np.int32),
        local_updates=np.atleast_2d(local_updates).astype(np.int32),
        decay=np.ones(sync_period) if decay is None else decay,
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
    check_method(method)
    return method


def check_method(method: Method) -> None:
    """Refuse what no method may be."""
    _check_shapes(method)
    _check_schedule(method)
    _check_average(method)
    _check_rule(method)
    _check_delays(method)
    # The rest is what every plan must satisfy; idle agents are allowed here, not there.
    make_plan(
        sync_period=int(method.sync_period),
        num_agents=method.num_agents,
        decay=method.decay,
        mixing=method.mixing,
        learning_rate=float(method.learning_rate),
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
    require(
        len(method.decay) == int(method.sync_period),
        f"{len(method.decay)} decay weights",
        f"one for each of τ = {int(method.sync_period)} slots",
        "Change the list or the sync period.",
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
    """A robust rule speaks of one group of equals, large enough for what it tolerates."""
    words, word = ["mean", *ROBUST], method.aggregate
    require_word("aggregate", word, words, "Use mean.")
    if word == "mean":
        return
    require(
        method.averages == "all" and not (method.renormalise or method.left_out.any()),
        f"aggregate = {word} over groups, or over those present",
        "one virtual agent for all agents, each counted the same",
        "Use the mean, or leave out hierarchy and renormalise.",
    )
    tolerated, agents = method.tolerated, method.num_agents
    fewest = 2 * tolerated + ROBUST[word]
    require(
        tolerated >= 0 and agents >= fewest,
        f"aggregate = {word} with {tolerated} bad agents tolerated among {agents}",
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
    plain = int(method.sync_period) == 1 and method.averages == "all"
    require(
        not method.is_delayed or plain,
        f"delays with sync_period = {int(method.sync_period)}",
        "a virtual agent that steps in every slot (sync_period = 1) and averages all",
        "Leave out the delays or the period.",
    )
