"""Several runs at once, each in a process of its own on a core of its own.

A run is learning and simulating in turns, so one core is what it can use; two runs on two pinned
cores were measured faster than two runs that share two cores (docs/decisions/0008).
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fmarl.cli.following import Follower
from fmarl.cli.progress import Row
from fmarl.engine.stopping import Stop
from fmarl.records.lines import read_lines
from fmarl.records.run_folder import RunFolder

LOOK_SECONDS = 0.5
"""How often the runs' files are looked at."""


class Job(NamedTuple):
    """A run that has been begun, and who follows it."""

    folder: Path
    follower: Follower


class _Started:
    """A run's process, and how far its lines have been read."""

    asked = False
    """Whether it was asked to end."""

    def __init__(self, job: Job, core: int, force: bool) -> None:
        words = [sys.executable, "-m", "fmarl", "resume", str(job.folder), "--quiet"]
        self.job, self.core, self.follower = job, core, job.follower
        self._metrics, self._position = RunFolder(job.folder).metrics, 0
        with _pinned(core):
            self.process = subprocess.Popen(
                [*words, *(["--force"] if force else [])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us, who pass it on
            )

    def look(self) -> None:
        """Take in what the run has written since."""
        if self._metrics.exists():
            lines = read_lines(self._metrics, self._position)
            self._position = lines.position
            for line in lines.records:
                self.follower.take(line)


def run_batch(
    folders: Sequence[Path],
    followers: Sequence[Follower],
    show: Callable[[Row], None],
    *,
    jobs: int,
    force: bool = False,
) -> int:
    """Train runs that have been begun, `jobs` at a time (0: one per core); the worst exit code."""
    waiting = [Job(*pair) for pair in zip(folders, followers, strict=True)]
    codes = [0]
    code = run_queue(
        lambda: waiting.pop(0) if waiting else None,
        lambda job, code: codes.append(code),
        show,
        jobs=jobs,
        force=force,
    )
    return max(code, *codes)


def run_queue(
    take: Callable[[], Job | None],
    done: Callable[[Job, int], None],
    show: Callable[[Row], None],
    *,
    jobs: int,
    force: bool = False,
) -> int:
    """Train what `take` gives until it gives nothing and nothing runs; 0, or a signal's exit code.

    `take` is asked again after every run that ends, and `done` is told its exit code.
    """
    free = sorted(os.sched_getaffinity(0))[: jobs or None]
    running: list[_Started] = []
    with Stop() as stop, _not_left_alone(running):
        while True:
            while free and not stop.requested and (job := take()):
                running.append(_Started(job, free.pop(0), force))
            if not running:
                return stop.exit_code if stop.requested else 0
            if stop.requested:
                _pass_on(stop.signal or signal.SIGTERM, running)
            time.sleep(LOOK_SECONDS)
            for one in list(running):
                code = one.process.poll()
                one.look()
                if code is not None:
                    one.follower.say(_state(code))
                    running.remove(one)
                    free.append(one.core)
                    done(one.job, code if code >= 0 else 128 - code)
                show(one.follower.row)


@contextmanager
def _not_left_alone(running: Sequence[_Started]) -> Iterator[None]:
    """Whatever ends us ends the runs too; each has its last checkpoint."""
    try:
        yield
    except BaseException:
        for one in running:
            one.process.terminate()
        for one in running:
            one.process.wait()
        raise


def _pass_on(number: int, running: Sequence[_Started]) -> None:
    """Ask every run once; each saves itself and ends."""
    for one in running:
        if not one.asked:
            one.process.send_signal(number)
            one.asked = True


def _state(code: int) -> str:
    if code == 0:
        return "done"
    return "stopped" if code > 128 or code < 0 else f"failed ({code})"


@contextmanager
def _pinned(core: int) -> Iterator[None]:
    """What is started within stays on one core; we do not."""
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)
