"""Which cores of a cluster are free for runs: hosts may come, go, fall silent, and not fit."""

import sys
import time
from typing import Any, NamedTuple

from fmarl.cluster.head_watch import Head
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

LOOK_SECONDS = 5.0
"""How often the hosts are counted anew."""
EMPTY_SECONDS = 120.0
"""How long a cluster may be without any host that fits before its runs are given up."""


class HostsLost(RuntimeError):  # noqa: N818 — it reads as what happened
    """Runs whose hosts were lost, and no other could take them; what came home is whole."""


class Slot(NamedTuple):
    """A core of a host."""

    host: Host
    core: int


class Slots:
    """The cores of all hosts that would give our bits; with `force`, of all that have fmarl."""

    def __init__(self, *, jobs: int, force: bool) -> None:
        self._jobs, self._force = jobs, force
        self._ours, self.head = versions_here(), Head()
        self._asked: dict[str, Any] = {}
        """Hosts that have not answered yet."""
        self._fits: dict[str, bool] = {}
        """Hosts that have, and whether they can be used."""
        self._told: dict[str, str] = {}
        """Hosts that were complained about, and why."""
        self._taken: set[tuple[str, int]] = set()
        self._there: list[Slot] = []
        self._looked, self._full = 0.0, time.monotonic()
        self._wait_for_hosts()

    def __len__(self) -> int:
        """Slots that can be in use at once."""
        return min(len(self._there), self._jobs or len(self._there))

    @property
    def is_one_free(self) -> bool:
        """Whether `take` would give one."""
        return self._free() is not None

    def take(self) -> Slot | None:
        """A slot that nobody uses, the hosts filled evenly; None if there is none."""
        slot = self._free()
        if slot is not None:
            self._taken.add(_name(slot))
        return slot

    def give_back(self, slot: Slot) -> None:
        """Use it no more."""
        self._taken.discard(_name(slot))

    def doubt(self, host: Host) -> None:
        """Use a host again only if it answers again: Ray takes its time to call a host dead."""
        self._fits.pop(host.node_id, None)
        self._told.setdefault(host.node_id, "")
        self._looked = 0.0

    def _free(self) -> Slot | None:
        self._look()
        if len(self._taken) >= len(self):
            return None
        return next((slot for slot in self._there if _name(slot) not in self._taken), None)

    def _wait_for_hosts(self) -> None:
        """Hear all hosts that answer soon, and at least one that fits."""
        deadline = time.monotonic() + ANSWER_SECONDS
        self._look(seconds=1.0)
        while time.monotonic() < deadline and (self._asked or not self._there):
            self._looked = 0.0
            self._look(seconds=1.0)
        if not self._there:
            raise self._empty()

    def _look(self, seconds: float = 0.0) -> None:
        """Count the hosts anew, waiting so long for each that has not answered."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self.head.require()
        up = hosts()
        for host in up:
            if host.node_id not in self._fits:
                self._hear(host, seconds)
        fit = [host for host in up if self._fits.get(host.node_id)]
        slots = [Slot(host, core) for host in fit for core in range(host.cores)]
        self._there = sorted(slots, key=lambda slot: slot.core)
        self._looked = time.monotonic()
        self._full = self._looked if self._there else self._full
        if self._looked - self._full > EMPTY_SECONDS:
            raise self._empty()

    def _hear(self, host: Host, seconds: float) -> None:
        promise = self._asked.pop(host.node_id, None) or ask_versions(host)
        said = answer(promise, seconds)
        if said is None:
            self._asked[host.node_id] = promise
            return
        problem = disagreement(self._ours, said)
        if not said.problem:  # else it is asked again at the next look
            self._fits[host.node_id] = not problem or self._force
        if not self._fits.get(host.node_id):
            self._tell(host, problem)

    def _tell(self, host: Host, problem: str) -> None:
        if host.node_id not in self._told:
            sys.stderr.write(f"fmarl: host {host.address} gets no runs: {problem}\n")
            self._told[host.node_id] = problem

    def _empty(self) -> BadInput:
        why = next(filter(None, self._told.values()), "none of them has a core for it")
        return BadInput(
            f"No host of the cluster can take a run: {why}. See fmarl doctor --address HOST:PORT."
        )


def _name(slot: Slot) -> tuple[str, int]:
    return slot.host.node_id, slot.core
