"""System calls that go wrong where a test wants it: every write of a run's files can be struck.

`durable` is given a stand-in for `os` that passes everything on, until the n-th call that changes
something. That one does half of its work if it is a write, and is then struck.
"""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NoReturn

STRUCK = ("open", "pwrite", "fsync", "replace", "mkdir", "unlink", "ftruncate", "close")


class Killed(BaseException):
    """Stands for the death of the process: nothing in the code under test may catch it."""


def disk_full() -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die() -> NoReturn:
    raise Killed


class Faults:
    """`os`, in which the n-th call is struck."""

    def __init__(self, at: int, strike: Callable[[], Any]) -> None:
        self.left = at
        self.strike = strike
        self.struck = ""
        """Name of the call that was struck; empty as long as none was."""

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in STRUCK:
            return real

        def call(*given: Any) -> Any:
            self.left -= 1
            if self.left != -1:
                return real(*given)
            self.struck = name
            if name == "pwrite":
                descriptor, content, position = given
                os.pwrite(descriptor, content[: len(content) // 2], position)
            if name == "close":  # the number is gone whatever the answer
                real(*given)
            return self.strike()

        return call


def each_in_turn(strike: Callable[[], Any]) -> Iterator[Faults]:
    """Strike the first call, then the second …; the last one finds no call left to strike."""
    for at in count():
        faults = Faults(at, strike)
        yield faults
        if not faults.struck:
            return
