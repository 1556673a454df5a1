"""Who sent what, how often and how many bytes: counted slot by slot, as a meter would.

The meter reads the arrays that the update works with. That it ends at the closed forms of `theory`
is a test, not an assumption.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from fmarl.federation.method import Method

Counts = Int[np.ndarray, " agent"]


class Ledger(NamedTuple):
    """How often each agent has done each kind of work so far."""

    uploads: Counts
    """Messages to the virtual agent (with their answer priced C1)."""
    downloads: Counts
    """Answers of the virtual agent."""
    updates: Counts
    """Local updates (priced C2)."""
    exchanges: Counts
    """Gradients sent to neighbours (priced W1)."""
    mixings: Counts
    """Received gradients mixed in (priced W2)."""

    def totals(self) -> dict[str, int]:
        """Sums over the agents, by name."""
        return {name: int(counts.sum()) for name, counts in self._asdict().items()}

    def of_each(self) -> dict[str, list[int]]:
        """Counts of every agent, by name."""
        return {name: counts.tolist() for name, counts in self._asdict().items()}


class MessageSizes(NamedTuple):
    """Bytes of one message of each kind."""

    upload: int
    """Parameters, and what else agents average."""
    exchange: int
    """One gradient."""


def empty_ledger(num_agents: int) -> Ledger:
    """Nothing counted yet."""
    return Ledger(*(np.zeros(num_agents, np.int64) for _ in Ledger._fields))


def after_slot(ledger: Ledger, method: Method, update_count: int) -> Ledger:
    """The ledger after one more slot, `update_count` being the slots before it.

    Paper: Eqs. (7) and (27) are what these counts add up to.
    """
    period, slot = divmod(update_count, int(method.sync_period))
    active = method.local_updates[period % len(method.local_updates)] > slot
    links = (method.rounds != 0) & ~np.eye(method.num_agents, dtype=bool)
    uploads, downloads = _post(method, period, update_count)
    return Ledger(
        uploads=ledger.uploads + uploads,
        downloads=ledger.downloads + downloads,
        updates=ledger.updates + active,
        exchanges=ledger.exchanges + np.count_nonzero(links, axis=(0, 1)),
        mixings=ledger.mixings + np.count_nonzero(links, axis=(0, 2)),
    )


def bytes_sent(ledger: Ledger, sizes: MessageSizes) -> int:
    """Bytes of all messages so far, both ways."""
    total = ledger.totals()
    with_virtual = total["uploads"] + total["downloads"]
    return with_virtual * sizes.upload + total["exchanges"] * sizes.exchange


def _post(method: Method, period: int, update_count: int) -> tuple[np.ndarray, np.ndarray]:
    """Who sends to the virtual agent after this slot, and who hears from it."""
    if method.is_delayed:
        everybody = np.ones(method.num_agents, np.int64)
        return everybody, everybody * ((update_count + 1) % method.adopt_every == 0)
    if (update_count + 1) % int(method.sync_period) != 0:
        nobody = np.zeros(method.num_agents, np.int64)
        return nobody, nobody
    counted = method.averaging[period % len(method.averaging)] != 0
    others = counted & ~np.eye(method.num_agents, dtype=bool)
    # One that was away has nothing to report, unless its neighbours moved it.
    moved = method.local_updates[period % len(method.local_updates)] > 0
    moved |= int(method.consensus_rounds) > 0
    return (others.any(axis=0) & moved).astype(np.int64), others.any(axis=1).astype(np.int64)
