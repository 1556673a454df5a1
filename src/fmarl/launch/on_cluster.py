"""Runs of a sweep on the hosts of a Ray cluster, as they are seen from home.

Each run trains on a core of some host (`host_run.py`), and its folder at home follows: this side
asks, about once a second, what has changed. Nothing is ever pushed, so a host that was given up and
still lives can not write home. A host that dies costs its runs what had not yet come home: they go
on elsewhere, and end with the same bits.
"""

import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fmarl.cluster.connect import joined
from fmarl.cluster.head_watch import ClusterLost
from fmarl.cluster.hosts import last_line
from fmarl.launch.core_pool import HostsLost, Slot, Slots
from fmarl.launch.folder_sync import read_folder, write_home
from fmarl.launch.host_run import HostRun, Look, Parcel, samples_of
from fmarl.records.atomic_files import remove
from fmarl.records.checkpoint_file import unfinished_files
from fmarl.records.events import EventCode, Note
from fmarl.records.jsonl import LineWriter
from fmarl.records.lock import hold
from fmarl.records.run_folder import RunFolder, read_run

MAX_LOSSES = 3
"""Hosts that a run may lose and go on elsewhere."""
SILENCE_SECONDS = 60.0
"""A host that has answered before and does not for so long counts as lost."""


class ClusterCores:
    """The cores of a cluster as a place for runs; use it in a `with`.

    Args:
        address: Of the cluster; None for one of this machine's cores.
        jobs: Runs at once; 0 for one per core.
        force: Whether runs may go on under other versions than they began with.
        exit_codes: What a run ends with that can not go on, by the kind of its problem.
    """

    def __init__(
        self,
        address: str | None,
        *,
        jobs: int,
        force: bool,
        exit_codes: Mapping[type[Exception], int],
    ) -> None:
        self._address, self._jobs, self._force = address, jobs, force
        self._exit_codes = exit_codes

    def __enter__(self) -> "ClusterCores":
        with ExitStack() as stack:
            stack.enter_context(joined(self._address))
            self._slots = Slots(jobs=self._jobs, force=self._force)
            self._joined = stack.pop_all()
        return self

    def __exit__(self, *problem: object) -> None:
        self._joined.close()

    def __len__(self) -> int:
        """Runs at once."""
        return len(self._slots)

    @property
    def has_room(self) -> bool:
        """Whether a run could be started now."""
        return self._slots.is_one_free

    def start(self, folder: Path) -> "RemoteRun":
        """Train a run that has been begun."""
        return RemoteRun(folder, self._slots, self._force, self._exit_codes)


class RemoteRun:
    """A run that trains elsewhere, to be handled as a process is."""

    def __init__(
        self,
        folder: Path,
        slots: Slots,
        force: bool,
        exit_codes: Mapping[type[Exception], int],
    ) -> None:
        self._folder, self._slots, self._force = folder, slots, force
        self._exit_codes = exit_codes
        self._held = ExitStack()
        self._is_ours = False
        """Whether the folder is held by us, and in order."""
        self._slot = slots.take()
        self._actor: Any = None
        self._promise: Any = None
        self._heard: float | None = None
        """When its host last answered; None before it ever did."""
        self._losses, self._asked, self._code = 0, 0, None

    def poll(self) -> int | None:
        """Bring home what is there; the exit code once the run has ended, negative by a signal."""
        try:
            if self._code is None:
                self._code = self._advance()
        except ClusterLost:  # it ends all runs, and is told of once
            raise
        except tuple(self._exit_codes) as problem:
            sys.stderr.write(f"fmarl: {problem}\n")
            kinds = (kind for kind in self._exit_codes if isinstance(problem, kind))
            self._code = self._exit_codes[next(kinds)]
        if self._code is not None:
            self._let_go()
        return self._code

    def send_signal(self, number: int) -> None:
        """Ask the run to save itself and end."""
        self._asked = number
        if self._heard is not None:
            self._actor.send_signal.remote(number)

    def terminate(self) -> None:
        """End it at once; what has come home stays."""
        self._let_go()
        self._code = -signal.SIGKILL

    def wait(self) -> None:
        """There is nothing to wait for: an actor that was ended ends its run by itself."""

    def _advance(self) -> int | None:
        if self._actor is None:
            return self._start()
        if self._asked and self._heard is None:  # nobody knows how long it would wait for its core
            return 128 + self._asked
        look = self._receive()
        if look is None:
            return None
        write_home(self._folder, look.changes)
        if look.code is None:
            self._promise = self._actor.look.remote()
            return None
        if look.code < 0 and not self._asked:
            self._lose(f"the run was ended by signal {-look.code}")
            return None
        sys.stderr.write(look.complaint.replace("{folder}", str(self._folder)))
        return look.code

    def _start(self) -> int | None:
        """Send the run to a free core; it waits at home for one."""
        self._slot = self._slot or self._slots.take()
        if self._asked:
            return 128 + self._asked
        if self._slot is None:
            return None
        if not self._is_ours:
            self._tidy(self._held.enter_context(hold(self._folder)))
            self._is_ours = True
        samples = samples_of(read_run(self._folder)["experiment"].get("samples", ""))
        parcel = Parcel(read_folder(self._folder), samples, self._slot.core, self._force)
        self._slots.head.require()
        self._actor = _actor_on(self._slot, parcel)
        self._promise = self._actor.look.remote()
        return None

    def _receive(self) -> Look | None:
        """What the host has answered; None if it has not yet, or is lost."""
        import ray
        from ray.exceptions import RayError

        ready, _ = ray.wait([self._promise], timeout=0)
        if not ready:
            if self._heard and time.monotonic() - self._heard > SILENCE_SECONDS:
                self._lose(f"no answer in {SILENCE_SECONDS:.0f} s")
            return None
        try:
            look: Any = ray.get(self._promise)
        except RayError as problem:
            self._lose(last_line(problem))
            return None
        self._heard = time.monotonic()
        return look

    def _lose(self, why: str) -> None:
        """Go on elsewhere from what has come home; `HostsLost` if that was tried often enough."""
        assert self._slot is not None
        where = self._slot.host.address
        self._slots.doubt(self._slot.host)
        self._leave_host()
        self._losses += 1
        self._note([Note(EventCode.HOST_LOST, f"{where}: {why}")])
        if self._losses > MAX_LOSSES:
            raise HostsLost(
                f"{self._folder} has lost {self._losses} hosts, the last one {where}: {why}. "
                "What came home is whole; go on with fmarl resume."
            )

    def _tidy(self, notes: list[Note]) -> None:
        """Put right what a killed process has left half done, as a run does that goes on."""
        with LineWriter(RunFolder(self._folder).metrics) as metrics:
            self._note([*notes, *metrics.notes])
        checkpoints = RunFolder(self._folder).checkpoints
        if checkpoints.exists():
            remove(unfinished_files(checkpoints))

    def _note(self, notes: list[Note]) -> None:
        """Write events at home, where nobody else writes while no host has the run."""
        with LineWriter(RunFolder(self._folder).events) as events:
            for note in [*events.notes, *notes]:
                now = datetime.now(UTC).isoformat(timespec="milliseconds")
                events.append({"time": now, "code": note.code, "detail": note.detail})

    def _leave_host(self) -> None:
        if self._actor is not None:
            import ray

            if self._slots.head.is_there:  # else the host ends it by itself, as it ends
                ray.kill(self._actor)
            self._actor = self._promise = self._heard = None
        if self._slot is not None:
            self._slots.give_back(self._slot)
            self._slot = None

    def _let_go(self) -> None:
        self._leave_host()
        self._held.close()


def _actor_on(slot: Slot, parcel: Parcel) -> Any:
    """An actor that has the run, on one core of a host; it is not started anew if it dies."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(slot.host.node_id, soft=False)
    actor: Any = ray.remote(HostRun)
    options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0}
    return actor.options(**options, scheduling_strategy=there).remote(parcel)
