"""Training the runs of a reproduction: in order, each once, and every result kept as it comes."""

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fmarl.cli.exit_codes import EXIT_CODES
from fmarl.cli.output import console, print_lines
from fmarl.cli.progress import Progress, Row, duration
from fmarl.engine.experiment import Experiment
from fmarl.engine.signals import SIGNALS
from fmarl.engine.train import Diverged, begin
from fmarl.launch.base import Places
from fmarl.launch.queue import Job, run_queue
from fmarl.launch.run_status import Follower
from fmarl.records.run_folder import RunFolder
from fmarl.reproduce.estimate import core_seconds, wall_seconds
from fmarl.reproduce.results import (
    ResultsFolder,
    adding_to,
    keep,
    read_results,
    summary,
    what_runs_here,
)
from fmarl.reproduce.run_plan import Task, missing_tasks, still_to_run
from fmarl.reproduce.study import Study

TRUST_SECONDS = 60.0
"""How long a run of luck must last to change the estimate much."""
STOPPED = {128 + number for number in SIGNALS}
"""Exit codes of runs that were asked to end, and did so well."""


class Conductor:
    """Gives runs to the cores, and takes their results, until none is missing."""

    def __init__(
        self, study: Study, parts: Sequence[str], folder: Path, *, keep_runs: bool = False
    ) -> None:
        self._study, self._parts, self._place = study, parts, ResultsFolder(folder)
        self._keep_runs = keep_runs
        self._tasks: dict[str, Task] = {}
        """Runs that were begun, by key; one that broke down is not begun again."""
        self._worst = 0
        self._began, self._estimated = time.monotonic(), 0.0

    def conduct(self, places: Places, *, quiet: bool) -> int:
        """Train all that is missing; 0, or the exit code of what kept it from ending."""
        self._cores = len(places)
        live = console().is_terminal and not quiet
        self._says_lines = not live and not quiet
        with (
            adding_to(self._place.path, what_runs_here(self._study)) as self._writer,
            Progress(quiet=not live) as progress,
        ):
            self._results = read_results(self._place.path)
            self._show = progress.update
            self._show_all()
            return run_queue(self._take, self._done, self._show, places) or self._outcome()

    def _outcome(self) -> int:
        """What to end with when no more runs can be begun."""
        missing = missing_tasks(self._study, self._parts, self._results, self._place)
        if missing and not self._worst:
            why = "stopped from outside, or without a sample set because its run diverged"
            sys.stderr.write(f"fmarl: {len(missing)} runs are still missing: {why}\n")
            return EXIT_CODES[Diverged]
        return self._worst

    def _take(self) -> Job | None:
        """The next run that can be begun, or gone on with."""
        for task in missing_tasks(self._study, self._parts, self._results, self._place):
            if task.key not in self._tasks and self._place.has_samples(task.experiment.samples):
                self._tasks[task.key] = task
                return Job(self._folder(task), Follower(task.name, task.experiment.num_epochs))
        return None

    def _folder(self, task: Task) -> Path:
        """The run's folder, made unless it was begun before."""
        folder = self._place.work / task.key
        if not RunFolder(folder).description.exists():
            source = task.experiment.samples
            path = str((self._place.work / source).resolve()) if source else ""
            begin(replace(task.experiment, samples=path), folder)
        return folder

    def _done(self, job: Job, code: int) -> None:
        """Keep what a run has found; one that diverged counts as it is."""
        task = self._tasks[job.folder.name]
        if code in (0, EXIT_CODES[Diverged]):
            failed = "" if code == 0 else "diverged"
            record = summary(task.experiment, job.folder, failed)
            if task.key not in self._results:
                self._results[task.key] = keep(self._writer, record)
            self._clear_away(task, job.folder)
            self._estimated += core_seconds(task.experiment)
            self._tell(task, job.follower.row)
        elif code not in STOPPED:
            self._worst = max(self._worst, code)
            sys.stderr.write(f"fmarl: {task.name} ended with code {code}; it is in {job.folder}\n")
        self._show_all()

    def _clear_away(self, task: Task, folder: Path) -> None:
        is_source = task.experiment.sample_slots and not task.experiment.samples
        if not self._keep_runs and not is_source:
            shutil.rmtree(folder)

    def _show_all(self) -> None:
        """A first row that counts runs, as the others count epochs."""
        there, rest = len(self._results), len(self._still_to_run())
        row = Row(name="all runs", epoch=there, num_epochs=there + rest, state="training")
        self._show(replace(row, seconds_left=self._seconds_left()))

    def _seconds_left(self) -> float:
        rest = wall_seconds(self._still_to_run(), self._cores)
        spent = time.monotonic() - self._began
        # The estimate counts as much as what has been seen after a minute of it.
        return rest * (spent + TRUST_SECONDS) / (self._estimated / self._cores + TRUST_SECONDS)

    def _still_to_run(self) -> list[Experiment]:
        return still_to_run(self._study, self._parts, self._results, self._place)

    def _tell(self, task: Task, row: Row) -> None:
        if self._says_lines:
            score = f"NAS {row.test_reward:.3f}" if row.test_reward is not None else ""
            left = duration(self._seconds_left())
            print_lines(f"{task.name}  {score}  {row.state}; about {left} left")
