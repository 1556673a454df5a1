"""The cores of this machine as places for runs.

A run is learning and simulating in turns, so one core is what it can use; two runs on two pinned
cores were measured faster than two runs that share two cores (docs/decisions/0008).
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

Trainer = subprocess.Popen[bytes]
"""A process that trains runs one after another (`trainer.py`)."""


class Cores:
    """The cores of this machine that we may use, or some of them; use it in a `with`.

    Each has a trainer from its first run on, and another after a run that did not end well.
    """

    def __init__(self, *, jobs: int = 0, force: bool = False) -> None:
        self._free = sorted(os.sched_getaffinity(0))[: jobs or None]
        self._size, self._force = len(self._free), force
        self._trainers: dict[int, Trainer] = {}

    def __enter__(self) -> "Cores":
        return self

    def __exit__(self, *problem: object) -> None:
        for trainer in self._trainers.values():
            trainer.communicate()  # no more runs: it ends

    def __len__(self) -> int:
        """Runs at once."""
        return self._size

    @property
    def has_room(self) -> bool:
        """Whether a core is free."""
        return bool(self._free)

    def start(self, folder: Path) -> "OnCore":
        """Train a run that has been begun."""
        core = self._free.pop(0)
        if core not in self._trainers:
            self._trainers[core] = start_trainer(core)
        words = ["resume", str(folder), "--quiet", *(["--force"] if self._force else [])]
        return OnCore(self._trainers[core], words, lambda code: self._take_back(core, code))

    def _take_back(self, core: int, code: int) -> None:
        self._free.append(core)
        if code:
            self._trainers.pop(core).communicate()


class OnCore:
    """A run that a trainer was given."""

    def __init__(self, trainer: Trainer, words: list[str], ended: Callable[[int], None]) -> None:
        self._trainer, self._ended = trainer, ended
        with suppress(BrokenPipeError):  # it was killed meanwhile, and its exit code tells
            os.write(_descriptor(trainer.stdin), json.dumps(words).encode() + b"\n")

    def poll(self) -> int | None:
        """The exit code, once."""
        code = 0 if self._is_done() else self._trainer.poll()
        if code is not None:
            self._ended(code)
        return code

    def _is_done(self) -> bool:
        answers = _descriptor(self._trainer.stdout)
        ready, _, _ = select.select([answers], [], [], 0)
        return bool(ready and os.read(answers, 1))

    def send_signal(self, number: int) -> None:
        """Ask it to save itself and end."""
        self._trainer.send_signal(number)

    def terminate(self) -> None:
        """Have it end."""
        self._trainer.terminate()

    def wait(self) -> None:
        """Wait until it has ended."""
        self._trainer.wait()


def start_trainer(core: int) -> Trainer:
    """A process on one core, which waits for runs to train."""
    with _pinned(core):
        return subprocess.Popen(
            [sys.executable, "-m", "fmarl.launch.core_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us, who pass it on
        )


@contextmanager
def _pinned(core: int) -> Iterator[None]:
    """What is started within stays on one core; we do not."""
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)


def _descriptor(pipe: IO[bytes] | None) -> int:
    """Of a pipe that we asked for; past its buffer, in which `select` sees nothing."""
    assert pipe is not None
    return pipe.fileno()
