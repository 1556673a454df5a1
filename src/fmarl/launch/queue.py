"""Several runs, as many at once as there is room for."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fmarl.cluster.connect import ClusterLost
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import read_experiment
from fmarl.engine.signals import Stop
from fmarl.launch.exit_codes import report_error
from fmarl.launch.launcher import LaunchedRun, Launcher
from fmarl.launch.run_status import RunStatus, StatusTracker
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder
from fmarl.records.run_list import failure_line

POLL_SECONDS = 0.5
"""How often the runs' files are read."""
Show = Callable[[RunStatus], None]
Done = Callable[["QueuedRun", int], None]


class QueuedRun:
    """A run whose folder has been made; once it is started, it trains."""

    launched: LaunchedRun
    _is_stopping = False

    def __init__(self, folder: Path, name: str, experiment: Experiment) -> None:
        self.folder = folder
        self._tracker = StatusTracker(name, experiment.num_epochs, experiment.world)
        self._metrics, self._position = RunFolder(folder).metrics, 0

    @property
    def status(self) -> RunStatus:
        return self._tracker.status

    def poll(self) -> int | None:
        """Bring the status up to date; the exit code once the run has ended."""
        code = self.launched.poll()  # before the lines are read, which are then the last
        lines = read_lines(self._metrics, self._position)
        self._position = lines.position
        for line in lines.records:
            self._tracker.add_line(line)
        if code is not None:
            self._tracker.end(_state(code, failure_line(self.folder)))
        return code if code is None or code >= 0 else 128 - code

    def stop(self, number: int) -> None:
        """Pass a signal on, once; the run saves itself and ends."""
        if not self._is_stopping:
            self.launched.send_signal(number)
            self._is_stopping = True


def run_all(folders: Sequence[Path], show: Show, launcher: Launcher) -> int:
    """Train all runs; the worst exit code."""
    waiting = [QueuedRun(folder, folder.name, read_experiment(folder)) for folder in folders]
    codes = [0]
    code = run_queue(
        lambda: waiting.pop(0) if waiting else None,
        lambda run, code: codes.append(code),
        show,
        launcher,
    )
    return max(code, *codes)


def run_queue(
    take: Callable[[], QueuedRun | None],
    done: Done,
    show: Show,
    launcher: Launcher,
) -> int:
    """Train what `take` gives until it gives nothing and nothing runs.

    `take` is asked again after every run that ends, and `done` is told its exit code. Returns 0, or
    the exit code of what ended all runs: a signal, or a cluster that is lost.
    """
    running: list[QueuedRun] = []
    try:
        with Stop() as stop, _terminated_on_error(running):
            while True:
                while not stop.requested and launcher.has_room and (run := take()):
                    run.launched = launcher.start(run.folder)
                    running.append(run)
                if not running and (stop.requested or launcher.has_room):
                    return stop.exit_code if stop.requested else 0
                if stop.requested:
                    for run in running:
                        run.stop(stop.signal or signal.SIGTERM)
                time.sleep(POLL_SECONDS)
                _poll_all(running, done, show)
    except ClusterLost as problem:
        return report_error(problem)


def _poll_all(running: list[QueuedRun], done: Done, show: Show) -> None:
    for run in list(running):
        code = run.poll()
        if code is not None:
            running.remove(run)
            done(run, code)
        show(run.status)


@contextmanager
def _terminated_on_error(running: Sequence[QueuedRun]) -> Iterator[None]:
    """Whatever ends us ends the runs too; each has its last checkpoint."""
    try:
        yield
    except BaseException:
        for run in running:
            run.launched.terminate()
        raise


def _state(code: int, why: str) -> str:
    if code == 0:
        return "done"
    return "stopped" if code > 128 or code < 0 else f"failed: {why}" if why else f"failed ({code})"
