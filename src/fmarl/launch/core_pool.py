"""Which cores of a cluster are free for runs: hosts may come, go, fall silent, and not fit."""

import sys
import time
from typing import Any, NamedTuple

from fmarl.cluster.connect import ClusterHead
from fmarl.cluster.hosts import (
    ANSWER_SECONDS,
    Host,
    answer,
    ask_versions,
    disagreement,
    hosts,
    versions_here,
)
from fmarl.errors import BadInput

SCAN_SECONDS = 5.0
"""How often the hosts are counted anew."""
EMPTY_SECONDS = 120.0
"""How long a cluster may be without any host that fits before its runs are given up."""


class CoreLease(NamedTuple):
    """A core of a host, for one run."""

    host: Host
    core: int


class CorePool:
    """The cores of all hosts that would give our bits; with `force`, of all that have fmarl."""

    def __init__(self, *, jobs: int, force: bool) -> None:
        self._jobs, self.force = jobs, force
        self._ours, self.head = versions_here(), ClusterHead()
        self._asked: dict[str, Any] = {}
        """Hosts that have not answered yet."""
        self._fits: dict[str, bool] = {}
        """Hosts that have, and whether they can be used."""
        self._rejected: dict[str, str] = {}
        """Hosts that the user was told of, and why."""
        self._taken: set[tuple[str, int]] = set()
        self._usable: list[CoreLease] = []
        self._scanned, self._full = 0.0, time.monotonic()
        self._wait_for_hosts()

    def __len__(self) -> int:
        """Cores that can be in use at once."""
        return min(len(self._usable), self._jobs or len(self._usable))

    @property
    def has_room(self) -> bool:
        return self._free() is not None

    def take(self) -> CoreLease | None:
        """A core that nobody uses, the hosts filled evenly; None if there is none."""
        lease = self._free()
        if lease is not None:
            self._taken.add(_name(lease))
        return lease

    def give_back(self, lease: CoreLease) -> None:
        self._taken.discard(_name(lease))

    def recheck(self, host: Host) -> None:
        """Use a host again only if it answers again: Ray takes its time to call a host dead."""
        self._fits.pop(host.node_id, None)
        self._rejected.setdefault(host.node_id, "")
        self._scanned = 0.0

    def _free(self) -> CoreLease | None:
        self._scan()
        if len(self._taken) >= len(self):
            return None
        return next((lease for lease in self._usable if _name(lease) not in self._taken), None)

    def _wait_for_hosts(self) -> None:
        """Wait for hosts that answer soon, and for at least one that fits."""
        deadline = time.monotonic() + ANSWER_SECONDS
        self._scan(seconds=1.0)
        while time.monotonic() < deadline and (self._asked or not self._usable):
            self._scanned = 0.0
            self._scan(seconds=1.0)
        if not self._usable:
            raise self._empty()

    def _scan(self, seconds: float = 0.0) -> None:
        """Count the hosts anew, waiting so long for each that has not answered."""
        if time.monotonic() - self._scanned < SCAN_SECONDS:
            return
        self.head.require_up()
        up = hosts()
        for host in up:
            if host.node_id not in self._fits:
                self._check(host, seconds)
        fit = [host for host in up if self._fits.get(host.node_id)]
        leases = [CoreLease(host, core) for host in fit for core in range(host.cores)]
        self._usable = sorted(leases, key=lambda lease: lease.core)
        self._scanned = time.monotonic()
        self._full = self._scanned if self._usable else self._full
        if self._scanned - self._full > EMPTY_SECONDS:
            raise self._empty()

    def _check(self, host: Host, seconds: float) -> None:
        promise = self._asked.pop(host.node_id, None) or ask_versions(host)
        said = answer(promise, seconds)
        if said is None:
            self._asked[host.node_id] = promise
            return
        problem = disagreement(self._ours, said)
        if not said.problem:  # else it is asked again at the next scan
            self._fits[host.node_id] = not problem or self.force
        if not self._fits.get(host.node_id) and host.node_id not in self._rejected:
            sys.stderr.write(f"fmarl: host {host.address} gets no runs: {problem}\n")
            self._rejected[host.node_id] = problem

    def _empty(self) -> BadInput:
        why = next(filter(None, self._rejected.values()), "none of them has a core for it")
        return BadInput(
            f"No host of the cluster can take a run: {why}. See fmarl doctor --address HOST:PORT."
        )


def _name(lease: CoreLease) -> tuple[str, int]:
    return lease.host.node_id, lease.core
