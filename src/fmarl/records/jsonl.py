"""Metrics and events: one JSON object per line, only ever whole lines, only ever appended.

A line reaches the operating system with one write, so it survives the death of the process; the
disk is waited for only at checkpoints (`sync`). A run that goes on from a checkpoint first cuts its
metrics back to where they ended at that checkpoint, and so ends with the file of a run that was
never interrupted.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require
from fmarl.records.atomic_files import (
    cut,
    read_whole,
    reason,
    sync,
    sync_folder,
    write_at,
    writing,
)
from fmarl.records.events import EventCode, Note
from fmarl.records.strict_json import Malformed, decode, encode_line
from fmarl.settings_io import open_regular

BLOCK = 1 << 16
LARGEST_LINE = 1 << 20
LARGEST_READ = 1 << 28
"""Bytes of lines that are read at once: some hundred thousand epochs."""
NEAR_THE_END = 1 << 20
"""Bytes in which the last test of a run is looked for."""


class Lines(NamedTuple):
    """What a file held when it was read."""

    records: list[dict[str, Any]]
    position: int
    """Where the last whole line ends, in bytes: read on from here when there is more."""


class LineWriter(Closeable):
    """A file of lines that is open for appending; the run's lock must be held."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[Note] = []
        """Says so if the file ended in half a line, which is cut off."""
        with writing(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                self.position = self._drop_half_a_line()
                """Where the next line goes, in bytes; a checkpoint remembers it."""
                sync_folder(path.parent)
            except BaseException:
                self.close()
                raise

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a line; `DiskTrouble` if the disk did not take it, and then none of it is there."""
        line = encode_line(record)
        with writing(self.path):
            try:
                write_at(self._descriptor, line, self.position)
            except OSError:
                with suppress(OSError):
                    cut(self._descriptor, self.position)
                raise
        self.position += len(line)

    def truncate_to(self, position: int) -> None:
        """Forget all lines after a position at which a line ended, as a checkpoint remembers it."""
        with writing(self.path):
            require(
                0 <= position <= self.position
                and _end_of_lines(self._descriptor, position) == position,
                f"{self.path} of {self.position} bytes, to go on at byte {position}",
                "a file with all lines up to the checkpoint",
                "Was it edited? Put it back as it was.",
            )
            cut(self._descriptor, position)
        self.position = position

    @property
    def start_of_last(self) -> int:
        """Where the last line begins, in bytes."""
        return _end_of_lines(self._descriptor, self.position - 1)

    def sync(self) -> None:
        """Wait until all lines are on the disk; call it before the checkpoint that counts on it."""
        with writing(self.path):
            sync(self._descriptor)

    def close(self) -> None:
        """Close the file. The operating system has every line already."""
        os.close(self._descriptor)

    def _drop_half_a_line(self) -> int:
        size = os.fstat(self._descriptor).st_size
        end = _end_of_lines(self._descriptor, size)
        if end < size:
            cut(self._descriptor, end)
            half = f"{self.path.name} ended in half a line; {size - end} bytes were cut"
            self.notes.append(Note(EventCode.LINE_CUT, half))
        return end


def read_lines(path: Path, start: int = 0) -> Lines:
    """Read all whole lines from a position on; half a line at the end is not yet there.

    A file that is missing has no lines. `BadInput` if a line is not a JSON object.
    """
    try:
        content = read_whole(path, LARGEST_READ, start)
    except FileNotFoundError:
        return Lines([], 0)
    except OSError as error:
        raise _unreadable(path, reason(error)) from None
    records = []
    position = start
    for line in content.split(b"\n")[:-1]:  # behind the last line end is nothing, or half a line
        try:
            records.append(decode(line))
        except Malformed as problem:
            raise _unreadable(path, f"at byte {position}, {problem}") from None
        position += len(line) + 1
    return Lines(records, position)


def require_own_lines(path: Path, mark: str) -> None:
    """Raise `BadInput` if a run's metrics say in their first line that they are another run's.

    Lines of older versions do not say whose they are, and a file that is missing has none.
    """
    try:
        with open_regular(path) as file:
            first = file.readline(LARGEST_LINE)
        stated = decode(first).get("settings", mark) if first.endswith(b"\n") else mark
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(path, reason(error)) from None
    except Malformed as problem:
        raise _unreadable(path, str(problem)) from None
    if stated != mark:
        raise _unreadable(path, "it is of a run with other settings")


def last_of_kind(path: Path, kind: str) -> dict[str, Any]:
    """The last line of a kind near the end of a file; empty if there is none.

    A file that is missing has no lines. `BadInput` if one of those that are read is damaged.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(start := max(size - NEAR_THE_END, 0))
            lines = file.read(NEAR_THE_END).split(b"\n")[bool(start) : -1]
        records = (decode(line) for line in reversed(lines))
        return next((one for one in records if one.get("kind") == kind), {})
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, reason(error)) from None
    except Malformed as problem:
        raise _unreadable(path, str(problem)) from None


def last_record(path: Path) -> dict[str, Any]:
    """The last whole line, however long the file is; empty if there is none that can be read."""
    try:
        with open_regular(path) as file:
            descriptor = file.fileno()
            end = _end_of_lines(descriptor, os.fstat(descriptor).st_size)
            begin = _end_of_lines(descriptor, end - 1)
            return decode(os.pread(descriptor, min(end - begin, LARGEST_LINE), begin))
    except (OSError, Malformed):
        return {}


def _end_of_lines(descriptor: int, size: int) -> int:
    """Where the last whole line within the first `size` bytes ends; read from the end.

    `Malformed` if what follows it is longer than any line of ours: such a file may have no end.
    """
    lowest = size - LARGEST_LINE
    while size > 0:
        if size < lowest:
            raise Malformed(f"more than {LARGEST_LINE} bytes without the end of a line")
        start = max(size - BLOCK, 0)
        newline = os.pread(descriptor, size - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        size = start
    return 0


def _unreadable(path: Path, why: str) -> BadInput:
    return BadInput(f"{path} can not be read: {why}. Resume the run, or put the file back.")
