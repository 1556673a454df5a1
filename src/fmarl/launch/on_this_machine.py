"""Runs on the cores of this machine.

A run is learning and simulating in turns, so one core is what it can use; two runs on two pinned
cores were measured faster than two runs that share two cores (docs/decisions/0008).
"""

import os
from pathlib import Path

from fmarl.launch.run_worker import RunWorker


class LocalLauncher:
    """The cores of this machine that we may use, or some of them; use it in a `with`.

    Each has a worker from its first run on, and another after a run that did not end well.
    """

    def __init__(self, *, jobs: int = 0, force: bool = False) -> None:
        self._cores = sorted(os.sched_getaffinity(0))[: jobs or None]
        self._force = force
        self._workers: dict[int, RunWorker] = {}

    def __enter__(self) -> "LocalLauncher":
        return self

    def __exit__(self, *problem: object) -> None:
        for worker in self._workers.values():
            worker.close()

    def __len__(self) -> int:
        return len(self._cores)

    @property
    def has_room(self) -> bool:
        return bool(self._free_cores())

    def start(self, folder: Path) -> RunWorker:
        core = self._free_cores()[0]
        if core not in self._workers or self._workers[core].has_ended:
            self._workers[core] = RunWorker(core)
        self._workers[core].start(folder, force=self._force)
        return self._workers[core]

    def _free_cores(self) -> list[int]:
        busy = {core for core, worker in self._workers.items() if worker.is_busy}
        return [core for core in self._cores if core not in busy]
