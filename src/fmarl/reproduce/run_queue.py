"""Training the runs of a reproduction: in order, each once, and every result kept as it comes."""

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin
from fmarl.engine.signals import SIGNALS
from fmarl.engine.train import Diverged
from fmarl.launch.exit_codes import EXIT_CODES
from fmarl.launch.launcher import Launcher
from fmarl.launch.queue import QueuedRun, run_queue
from fmarl.launch.run_status import RunStatus
from fmarl.records.run_folder import RunFolder
from fmarl.reproduce.results import (
    ResultsFolder,
    adding_to,
    keep,
    read_results,
    summary,
    what_runs_here,
)
from fmarl.reproduce.run_plan import (
    Task,
    core_seconds,
    missing_tasks,
    still_to_run,
    wall_seconds,
)
from fmarl.reproduce.study import Study

TRUST_SECONDS = 60.0
"""How long a run of luck must last to change the estimate much."""
STOPPED = {128 + number for number in SIGNALS}
"""Exit codes of runs that were asked to end, and did so well."""


class ReproductionQueue:
    """Trains the runs that are missing, and takes their results, until none is.

    Args:
        show: Told how far each run has come, and all of them together.
        ended: Told of each run that has a result: its name, how it ended, and the seconds left.
    """

    def __init__(
        self,
        study: Study,
        parts: Sequence[str],
        folder: Path,
        *,
        keep_runs: bool = False,
        show: Callable[[RunStatus], None] = lambda status: None,
        ended: Callable[[str, RunStatus, float], None] | None = None,
    ) -> None:
        self._study, self._parts, self._place = study, parts, ResultsFolder(folder)
        self._keep_runs, self._show, self._ended = keep_runs, show, ended
        self._tasks: dict[str, Task] = {}
        """Runs that were begun, by key; one that broke down is not begun again."""
        self._worst = 0
        self._began, self._estimated = time.monotonic(), 0.0

    def run(self, launcher: Launcher) -> int:
        """Train all that is missing; 0, or the exit code of what kept it from ending."""
        self._cores = len(launcher)
        with adding_to(self._place.path, what_runs_here(self._study)) as self._writer:
            self._results = read_results(self._place.path)
            self._show_all()
            return run_queue(self._take, self._done, self._show, launcher) or self._outcome()

    def _outcome(self) -> int:
        """What to end with when no more runs can be begun."""
        missing = missing_tasks(self._study, self._parts, self._results, self._place)
        if missing and not self._worst:
            why = "stopped from outside, or without a sample set because its run diverged"
            sys.stderr.write(f"fmarl: {len(missing)} runs are still missing: {why}\n")
            return EXIT_CODES[Diverged]
        return self._worst

    def _take(self) -> QueuedRun | None:
        """The next run that can be begun or resumed."""
        for task in missing_tasks(self._study, self._parts, self._results, self._place):
            if task.key not in self._tasks and self._place.has_samples(task.experiment.samples):
                self._tasks[task.key] = task
                return QueuedRun(self._folder(task), task.name, task.experiment)
        return None

    def _folder(self, task: Task) -> Path:
        """The run's folder, made unless it was begun before."""
        folder = self._place.work / task.key
        if not RunFolder(folder).description.exists():
            source = task.experiment.samples
            path = str((self._place.work / source).resolve()) if source else ""
            begin(replace(task.experiment, samples=path), folder)
        return folder

    def _done(self, run: QueuedRun, code: int) -> None:
        """Keep what a run has found; one that diverged counts as it is."""
        task = self._tasks[run.folder.name]
        if code in (0, EXIT_CODES[Diverged]):
            record = summary(task.experiment, run.folder, "diverged" if code else "")
            if task.key not in self._results:
                self._results[task.key] = keep(self._writer, record)
            is_source = task.experiment.sample_slots and not task.experiment.samples
            if not self._keep_runs and not is_source:
                shutil.rmtree(run.folder)
            self._estimated += core_seconds(task.experiment)
            if self._ended is not None:
                self._ended(task.name, run.status, self._seconds_left())
        elif code not in STOPPED:
            self._worst = max(self._worst, code)
            sys.stderr.write(f"fmarl: {task.name} ended with code {code}; it is in {run.folder}\n")
        self._show_all()

    def _show_all(self) -> None:
        """A first row that counts runs, as the others count epochs."""
        there, rest = len(self._results), len(self._still_to_run())
        left = self._seconds_left()
        self._show(
            RunStatus(name="all runs", epoch=there, num_epochs=there + rest, seconds_left=left)
        )

    def _seconds_left(self) -> float:
        rest = wall_seconds(self._still_to_run(), self._cores)
        spent = time.monotonic() - self._began
        # The estimate counts as much as what has been seen after a minute of it.
        return rest * (spent + TRUST_SECONDS) / (self._estimated / self._cores + TRUST_SECONDS)

    def _still_to_run(self) -> list[Experiment]:
        return still_to_run(self._study, self._parts, self._results, self._place)
