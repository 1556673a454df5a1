"""Bytes that are on the disk whole, or not there at all. Every write of a run goes through here.

A file is written under a temporary name and synced, then renamed, then its folder is synced: after
a crash or a power cut at any moment there is the old file or the new one, never half of one.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fmarl.settings_io import open_regular

TEMPORARY = ".tmp"
"""How the name of a file ends that is not yet whole."""
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
# File systems that can not sync a folder say so with one of these; there is nothing to wait for.
NO_FOLDER_SYNC = (errno.EINVAL, errno.EBADF)


class DiskTrouble(RuntimeError):  # noqa: N818 — it reads as what happened
    """The disk did not take a write. What was there before is still whole; trying again is safe."""


def reason(error: OSError) -> str:
    """Why the system refused, in its own words."""
    return error.strerror or str(error)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn whatever the system refuses into `DiskTrouble` about this file."""
    try:
        yield
    except OSError as error:
        raise DiskTrouble(f"{path} can not be written: {reason(error)}") from None


def write_durably(path: Path, content: bytes) -> None:
    """Put a file in place; when this returns, it outlives a power cut."""
    stage(path, content)
    publish(path)


def stage(path: Path, content: bytes) -> None:
    """Write a file under its temporary name, whole and synced."""
    with writing(path), _or_removed(temporary(path)):
        descriptor = os.open(temporary(path), NEW_FILE, 0o666)
        try:
            write_at(descriptor, content, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def publish(path: Path) -> None:
    """Give a file that was staged its name, and wait until the disk knows it."""
    with writing(path):
        with _or_removed(temporary(path)):
            os.replace(temporary(path), path)
        sync_folder(path.parent)


def temporary(path: Path) -> Path:
    """Where a file lies before it is whole."""
    return path.with_name(path.name + TEMPORARY)


def make_folder(path: Path) -> None:
    """Make a folder in one that exists, unless it is there."""
    with writing(path), suppress(FileExistsError):
        os.mkdir(path)
        sync_folder(path.parent)


def write_at(descriptor: int, content: bytes, position: int) -> None:
    """Write all of it at a place in an open file: one system call, unless the disk takes less."""
    rest = memoryview(content)
    while rest:
        written = os.pwrite(descriptor, rest, position)
        position += written
        rest = rest[written:]


def cut(descriptor: int, length: int) -> None:
    """Shorten an open file."""
    os.ftruncate(descriptor, length)


def sync(descriptor: int) -> None:
    """Wait until an open file is on the disk."""
    os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def remove(paths: Iterable[Path]) -> None:
    """Delete files in this order; one that can not be deleted does no harm, and stays."""
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def read_whole(path: Path, largest: int, start: int = 0) -> bytes:
    """Read a regular file from a place on, if no more follow; `OSError` if it is anything else."""
    with open_regular(path) as file:
        rest = max(os.fstat(file.fileno()).st_size - start, 0)
        if rest > largest:
            raise OSError(errno.EFBIG, f"it has {rest} bytes, more than {largest}")
        file.seek(start)
        return file.read(rest)


@contextmanager
def _or_removed(path: Path) -> Iterator[None]:
    """Leave no such file if the system refuses something in the body."""
    try:
        yield
    except OSError:
        remove([path])
        raise
