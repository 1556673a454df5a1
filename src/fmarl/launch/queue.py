"""Several runs at once, wherever there is room for them."""

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fmarl.cli.exit_codes import EXIT_CODES
from fmarl.cli.progress import Row
from fmarl.cluster.head_watch import ClusterLost
from fmarl.engine.signals import Stop
from fmarl.launch.base import Places, Running
from fmarl.launch.run_status import Follower
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

LOOK_SECONDS = 0.5
"""How often the runs' files are looked at."""


class Job(NamedTuple):
    """A run that has been begun, and who follows it."""

    folder: Path
    follower: Follower


class _Started:
    """A run in training, and how far its lines have been read."""

    asked = False
    """Whether it was asked to end."""

    def __init__(self, job: Job, running: Running) -> None:
        self.job, self.running, self.follower = job, running, job.follower
        self._metrics, self._position = RunFolder(job.folder).metrics, 0

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
    places: Places,
) -> int:
    """Train runs that have been begun, as many at a time as fit; the worst exit code."""
    waiting = [Job(*pair) for pair in zip(folders, followers, strict=True)]
    codes = [0]
    code = run_queue(
        lambda: waiting.pop(0) if waiting else None,
        lambda job, code: codes.append(code),
        show,
        places,
    )
    return max(code, *codes)


def run_queue(
    take: Callable[[], Job | None],
    done: Callable[[Job, int], None],
    show: Callable[[Row], None],
    places: Places,
) -> int:
    """Train what `take` gives until it gives nothing and nothing runs; 0, or a signal's exit code.

    `take` is asked again after every run that ends, and `done` is told its exit code.
    """
    try:
        return _run_queue(take, done, show, places)
    except ClusterLost as problem:
        sys.stderr.write(f"fmarl: {problem}\n")
        return EXIT_CODES[ClusterLost]


def _run_queue(
    take: Callable[[], Job | None],
    done: Callable[[Job, int], None],
    show: Callable[[Row], None],
    places: Places,
) -> int:
    running: list[_Started] = []
    with Stop() as stop, _not_left_alone(running):
        while True:
            while not stop.requested and places.has_room and (job := take()):
                running.append(_Started(job, places.start(job.folder)))
            if not running and (stop.requested or places.has_room):
                return stop.exit_code if stop.requested else 0
            if stop.requested:
                _pass_on(stop.signal or signal.SIGTERM, running)
            time.sleep(LOOK_SECONDS)
            for one in list(running):
                code = one.running.poll()
                one.look()
                if code is not None:
                    one.follower.say(_state(code))
                    running.remove(one)
                    done(one.job, code if code >= 0 else 128 - code)
                show(one.follower.row)


@contextmanager
def _not_left_alone(running: Sequence[_Started]) -> Iterator[None]:
    """Whatever ends us ends the runs too; each has its last checkpoint."""
    try:
        yield
    except BaseException:
        for one in running:
            one.running.terminate()
        for one in running:
            one.running.wait()
        raise


def _pass_on(number: int, running: Sequence[_Started]) -> None:
    """Ask every run once; each saves itself and ends."""
    for one in running:
        if not one.asked:
            one.running.send_signal(number)
            one.asked = True


def _state(code: int) -> str:
    if code == 0:
        return "done"
    return "stopped" if code > 128 or code < 0 else f"failed ({code})"
