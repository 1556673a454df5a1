"""One process per run: a file `LOCK` that exists while a run is held, or its holder was killed.

The lock is the kernel's (`flock`): it ends with its holder, however that dies, and holds between
containers and, on NFS, between hosts. The text in the file only tells people who it is; a pid means
nothing in another container, so it decides nothing. Processes that a holder starts with
`subprocess` do not keep the lock; ones it merely forks would.
"""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from fmarl.errors import BadInput
from fmarl.records.atomic_files import cut, reason, remove, write_at
from fmarl.records.events import EventCode, Note

LOCK = "LOCK"
LONGEST_TEXT = 400
LOOKING_SECONDS = (0.01, 0.05)
"""Pauses before a lock counts as taken."""
OPEN_OR_MAKE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW


class RunHeld(BadInput):
    """Another process holds the run."""


@contextmanager
def hold(folder: Path) -> Iterator[list[Note]]:
    """Be the only process that writes to a run; `RunHeld` if another one is.

    Yields a note if the last holder was killed.
    """
    path = folder / LOCK
    descriptor = _lock(path)
    try:
        previous = _sign(path, descriptor)
        taken_over = f"taken over from {previous}, which is gone"
        yield [Note(EventCode.LOCK_STALE, taken_over)] if previous else []
    finally:
        _let_go(path, descriptor)


def holder(folder: Path) -> str:
    """Who holds a run, or held it when it was killed; empty if it was let go."""
    with suppress(OSError), _looking_at(folder) as descriptor:
        return _text(descriptor)
    return ""


def is_held(folder: Path) -> bool:
    """Whether a process holds a run at this moment; a holder that was killed holds it no more."""
    with suppress(OSError), _looking_at(folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


@contextmanager
def _looking_at(folder: Path) -> Iterator[int]:
    """The lock's file, open for reading; `OSError` if there is none."""
    descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(path: Path) -> int:
    """Open and lock the file of that name, which a leaving holder may delete in between."""
    while True:
        descriptor = _open(path)
        try:
            _lock_patiently(descriptor)
        except OSError as error:
            taken = isinstance(error, BlockingIOError)
            problem = _taken(path, _text(descriptor)) if taken else _refused(path, error)
            os.close(descriptor)
            raise problem from None
        if _is_at(path, descriptor):
            return descriptor
        os.close(descriptor)


def _lock_patiently(descriptor: int) -> None:
    """Lock it; who only looks (`is_held`) holds it too, but not for long."""
    for pause in LOOKING_SECONDS:
        with suppress(BlockingIOError):
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(pause)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _open(path: Path) -> int:
    try:
        return os.open(path, OPEN_OR_MAKE, 0o666)
    except OSError as error:
        raise _refused(path, error) from None


def _sign(path: Path, descriptor: int) -> str:
    """Write who we are; return who stood there."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    me = f"pid {os.getpid()} on host {socket.gethostname()} since {since}\n".encode()
    previous = _text(descriptor)
    try:
        write_at(descriptor, me, 0)
        cut(descriptor, len(me))
    except OSError as error:
        raise _refused(path, error) from None
    return previous


def _let_go(path: Path, descriptor: int) -> None:
    try:
        if _is_at(path, descriptor):
            remove([path])  # while it is locked: whoever waits at this file sees that it is gone
    finally:
        os.close(descriptor)


def _text(descriptor: int) -> str:
    try:
        text = os.pread(descriptor, LONGEST_TEXT, 0).decode().removesuffix("\n")
    except (OSError, ValueError):
        return "an unknown process"
    return text if text.isprintable() else "an unknown process"


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def _taken(path: Path, who: str) -> RunHeld:
    who = who or "another process"
    return RunHeld(f"{path.parent} is locked by {who}. Wait until it has ended, or stop it.")


def _refused(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{path} can not be locked: {reason(error)}. Check the folder.")
