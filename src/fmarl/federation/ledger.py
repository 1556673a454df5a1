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
    """How often each agent, and each edge virtual agent, has done each kind of work so far."""

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
    relays: Counts
    """Messages between edge virtual agents and their root, both ways, of the size of an upload.
    Unlike the others they are no agent's: entry g is that of edge g."""

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
    uploads, downloads = who_uploads(method, update_count)
    links = _links(method)
    return Ledger(
        uploads=ledger.uploads + uploads,
        downloads=ledger.downloads + downloads,
        updates=ledger.updates + active,
        exchanges=ledger.exchanges + links,
        mixings=ledger.mixings + links,
        relays=ledger.relays + _relays(method, period, uploads, downloads),
    )


def bytes_sent(ledger: Ledger, sizes: MessageSizes) -> int:
    """Bytes of all messages so far, both ways."""
    total = ledger.totals()
    with_virtual = total["uploads"] + total["downloads"] + total["relays"]
    return with_virtual * sizes.upload + total["exchanges"] * sizes.exchange


def who_uploads(method: Method, update_count: int) -> tuple[Counts, Counts]:
    """Who sends to the virtual agent after the slot that follows so many, and who hears from it."""
    period = update_count // int(method.sync_period)
    if method.is_delayed:
        everybody = np.ones(method.num_agents, np.int64)
        return everybody, everybody * ((update_count + 1) % method.adopt_every == 0)
    if (update_count + 1) % int(method.sync_period) != 0:
        nobody = np.zeros(method.num_agents, np.int64)
        return nobody, nobody
    groups = method.groups[period % len(method.groups)]
    counted = method.counted[period % len(method.counted)] > 0
    others = np.bincount(groups, counted, method.num_agents)[groups] - counted
    together = np.bincount(groups, minlength=method.num_agents)[groups] > 1
    # One that was absent has nothing to report, unless its neighbours moved it.
    moved = method.local_updates[period % len(method.local_updates)] > 0
    moved |= _links(method) > 0
    return (counted & together & moved).astype(np.int64), (others > 0).astype(np.int64)


def _relays(method: Method, period: int, uploads: Counts, downloads: Counts) -> Counts:
    """What edges send on to the root, and what comes back: one message for all their agents."""
    agents, edges = method.num_agents, method.edge_agents.astype(np.int64)
    if not edges.any():
        return np.zeros(agents, np.int64)
    groups = method.groups[period % len(method.groups)]
    edges_of_groups = np.unique(groups * agents + edges) // agents
    shared = np.bincount(edges_of_groups, minlength=agents)[groups] > 1
    up, down = (
        np.bincount(edges[shared & (sent > 0)], minlength=agents) > 0
        for sent in (uploads, downloads)
    )
    return up.astype(np.int64) + down


def _links(method: Method) -> Counts:
    """Neighbours of each agent, over all rounds of a slot; a round is symmetric."""
    own = np.diagonal(method.mixing, axis1=1, axis2=2)
    return np.count_nonzero(method.mixing, axis=(0, 2)) - np.count_nonzero(own, axis=0)
