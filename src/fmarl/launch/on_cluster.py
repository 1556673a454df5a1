"""Runs on the hosts of a Ray cluster, one core each, as they are seen from here.

The run trains in a copy of its folder (`host_run.py`), and this side asks, about once a second,
what has changed. Nothing is ever pushed, so a host that was given up and is still up can not write
here. A host that dies costs its runs what had not yet been fetched: they continue elsewhere, and
end with the same bits.
"""

import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from fmarl.child_process import search_path
from fmarl.cluster.connect import ClusterLost
from fmarl.cluster.hosts import HostActor, HostLost
from fmarl.engine.run import silence
from fmarl.engine.run_writer import RunWriter
from fmarl.errors import EngineFailed
from fmarl.launch.core_pool import CorePool
from fmarl.launch.exit_codes import RUN_ERRORS, report_error
from fmarl.launch.folder_sync import apply_changes, read_folder
from fmarl.launch.host_run import HostRun, Poll, RunBundle, samples_of
from fmarl.records.atomic_files import remove
from fmarl.records.checkpoint_file import unfinished_files
from fmarl.records.events import EventCode, Note
from fmarl.records.lock import hold
from fmarl.records.run_folder import RunFolder, read_run

MAX_LOSSES = 3
"""Hosts that a run may lose and continue elsewhere."""


class ClusterLauncher(CorePool):
    """The cores of the cluster that we are in (`joined`)."""

    def start(self, folder: Path) -> "ClusterRun":
        return ClusterRun(folder, self)


class ClusterRun:
    """A run that trains on a host, to be handled as a process is."""

    def __init__(self, folder: Path, pool: CorePool) -> None:
        self._folder, self._pool = folder, pool
        self._lock = ExitStack()
        self._is_locked = False
        """Whether the folder is held by us, and in order."""
        self._lease = pool.take()
        self._actor: HostActor | None = None
        self._losses, self._signal = 0, 0
        self._code: int | None = None

    def poll(self) -> int | None:
        """Fetch what has changed; the exit code once the run has ended, negative by a signal."""
        try:
            if self._code is None:
                self._code = self._advance()
        except ClusterLost:  # it ends all runs, and is reported once
            raise
        except RUN_ERRORS as problem:
            self._code = report_error(problem)
        if self._code is not None:
            self._release()
        return self._code

    def send_signal(self, number: int) -> None:
        self._signal = number
        if self._actor is not None and self._actor.has_answered:
            self._actor.notify("send_signal", number)

    def terminate(self) -> None:
        """End it at once; what was fetched stays."""
        self._release()
        self._code = -signal.SIGKILL

    def _advance(self) -> int | None:
        if self._actor is None:
            return self._start()
        if self._signal and not self._actor.has_answered:  # it may wait for its core for long
            return 128 + self._signal
        try:
            poll: Poll | None = self._actor.answer()
        except HostLost as problem:
            return self._leave_lost_host(str(problem))
        if poll is None:
            return None
        apply_changes(self._folder, poll.changes)
        if poll.code is None:
            self._actor.call("poll")
            return None
        if poll.code < 0 and not self._signal:
            return self._leave_lost_host(f"the run was ended by signal {-poll.code}")
        sys.stderr.write(poll.complaint.replace("{folder}", str(self._folder)))
        return poll.code

    def _start(self) -> int | None:
        """Send the run to a free core; it waits here for one."""
        self._lease = self._lease or self._pool.take()
        if self._signal:
            return 128 + self._signal
        if self._lease is None:
            return None
        if not self._is_locked:
            self._repair(self._lock.enter_context(hold(self._folder)))
            self._is_locked = True
        samples = samples_of(read_run(self._folder)["experiment"].get("samples", ""))
        files, core, force = read_folder(self._folder), self._lease.core, self._pool.force
        bundle = RunBundle(files, samples, core, force, search_path())
        self._pool.head.require_up()
        self._actor = HostActor(HostRun, self._lease.host, bundle)
        self._actor.call("poll")
        return None

    def _leave_lost_host(self, why: str) -> None:
        """Continue elsewhere from what was fetched, unless that was tried often enough."""
        assert self._lease is not None
        host = self._lease.host
        self._pool.recheck(host)
        self._leave_host()
        self._losses += 1
        self._write_events([Note(EventCode.HOST_LOST, f"{host.address}: {why}")])
        if self._losses > MAX_LOSSES:
            raise EngineFailed(
                f"{self._folder} has lost {self._losses} hosts, the last one {host.address}: "
                f"{why}. What came home is whole; go on with fmarl resume."
            )

    def _repair(self, notes: list[Note]) -> None:
        """Put right what a killed process has left half done, as a run does that is resumed."""
        self._write_events(notes)
        checkpoints = RunFolder(self._folder).checkpoints
        if checkpoints.exists():
            remove(unfinished_files(checkpoints))

    def _write_events(self, notes: list[Note]) -> None:
        """Into the folder here, where nobody else writes while no host has the run."""
        with RunWriter(self._folder, read_run(self._folder)["run_id"], silence) as writer:
            writer.notes(notes)

    def _leave_host(self) -> None:
        if self._actor is not None and self._pool.head.is_up:  # else the host ends it by itself
            self._actor.kill()
        self._actor = None
        if self._lease is not None:
            self._pool.give_back(self._lease)
            self._lease = None

    def _release(self) -> None:
        self._leave_host()
        self._lock.close()
