"""Scalars for TensorBoard, beside the metrics that everything else reads.

Uses tensorboardX's record writer and messages, not its `SummaryWriter`: that one hands each value
through a process queue to a thread, and names files by the second, so that two starts within one
second overwrite each other. Here files are numbered, which is also the order TensorBoard reads in.

tensorboardX is imported where it is used: a run that is only read need not load protobuf.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fmarl.closeable import Closeable
from fmarl.records.atomic_files import make_folder, writing

FILE_PREFIX = "events.out.tfevents."
FLUSH_SECONDS = 5.0


class Board(Closeable):
    """An event file that is open for writing; `with` closes it."""

    def __init__(self, folder: Path, first_step: int) -> None:
        """Begin a file in a folder of event files.

        Args:
            folder: Made if missing; the one it lies in must exist.
            first_step: Of this start. What earlier starts logged from there on is hidden.
        """
        from tensorboardX import RecordWriter

        make_folder(folder)
        self._folder = folder
        self._flushed = time.monotonic()
        with writing(folder):
            # An absolute path, for tensorboardX takes a leading "s3:" or "gs:" for a cloud's.
            self._writer = RecordWriter(str(_next_file(folder.resolve())))
            self._writer.write(_event(file_version="brain.Event:2"))
            # Here TensorBoard drops all that it has read so far from this step on.
            self._writer.write(_event(step=first_step, session_log={"status": "START"}))

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point to each named curve."""
        points = [{"tag": name, "simple_value": value} for name, value in values.items()]
        with writing(self._folder):
            self._writer.write(_event(step=step, summary={"value": points}))
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Wait until all points are on the disk; happens every few seconds by itself."""
        with writing(self._folder):
            self._writer.flush()
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Write what is left, and close the file."""
        with writing(self._folder):
            self._writer.close()


def _next_file(folder: Path) -> Path:
    numbers = [path.name.removeprefix(FILE_PREFIX) for path in folder.glob(f"{FILE_PREFIX}*")]
    last = max((int(number) for number in numbers if number.isdecimal()), default=0)
    return folder / f"{FILE_PREFIX}{last + 1:010}"


def _event(**content: Any) -> bytes:
    """A message of an event file; parts of it are dictionaries."""
    from tensorboardX.proto import event_pb2

    event = event_pb2.Event(wall_time=time.time(), **content)  # pyright: ignore[reportAttributeAccessIssue] — generated
    return event.SerializeToString()
