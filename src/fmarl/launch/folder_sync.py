"""A run's folder in two places: what changed where the run trains is written where it belongs.

The folder at home is a whole run at every moment, as if it had been trained there: a kill of
anything between any two writes leaves what `fmarl resume` goes on from. So everything that a
checkpoint counts on is home before the sidecar that commits it, and nothing is sent that is not
finished. Pure file work; it knows nothing of Ray.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from fmarl.errors import require
from fmarl.records.atomic_files import (
    TEMPORARY,
    cut,
    make_folder,
    publish,
    remove,
    stage,
    sync,
    write_at,
    write_durably,
    writing,
)
from fmarl.records.checkpoint_file import NAME
from fmarl.records.lock import LOCK
from fmarl.records.run_folder import RunFolder

LINES = ".jsonl"
Signature = tuple[int, int, int]
"""Number, size and time of a file: it is read again when they differ."""


class Change(NamedTuple):
    """What happened to a file since it was last looked at."""

    name: str
    """Its path below the folder."""
    keep: int
    """Bytes at its beginning that are as they were."""
    content: bytes | None
    """What comes after them; None if the file is gone."""


class Seen(NamedTuple):
    """A file as the other side knows it."""

    length: int
    sha256: str


class Outbox:
    """Finds what has changed in a folder that is being written to."""

    def __init__(self, folder: Path, known: Mapping[str, bytes]) -> None:
        self._folder = folder
        self._seen = {name: _seen(content) for name, content in known.items()}
        self._signatures: dict[str, Signature] = {}

    def look(self) -> list[Change]:
        """What changed since the last look; a run that goes on meanwhile is never caught halfway.

        Arrays without their sidecar are not sent, for they may be unfinished. What vanishes while
        it is looked at is gone only at the next look, which finds what has outlived it.
        """
        listed, read = self._read_all()
        for name in [name for name in read if sidecar_of(name) == name]:
            if not (self._folder / name).exists():  # its arrays may be gone too
                del read[name]
        sent = {name for name in read if sidecar_of(name) in (None, *read) or name in self._seen}
        for name in listed - sent:
            self._signatures.pop(name, None)
        changes = [self._take(name, content) for name, content in read.items() if name in sent]
        return [*filter(None, changes), *self._forget(self._seen.keys() - listed)]

    def _read_all(self) -> tuple[set[str], dict[str, bytes | None]]:
        """Names of all files, and their contents; None where one is as it was."""
        listed, read = set[str](), dict[str, bytes | None]()
        for name in names_in(self._folder):
            listed.add(name)
            with suppress(FileNotFoundError):
                path = self._folder / name
                signature = _signature(path)
                same = self._signatures.get(name) == signature
                read[name] = None if same else _whole_part(name, path.read_bytes())
                self._signatures[name] = signature
        return listed, read

    def _take(self, name: str, content: bytes | None) -> Change | None:
        if content is None:
            return None
        change = difference(name, self._seen.get(name), content)
        self._seen[name] = _seen(content)
        return change

    def _forget(self, names: Collection[str]) -> list[Change]:
        for name in names:
            del self._seen[name]
            self._signatures.pop(name, None)
        return [Change(name, 0, None) for name in names]


def read_folder(folder: Path) -> dict[str, bytes]:
    """All files of a run that nobody writes to, by their names."""
    return {name: (folder / name).read_bytes() for name in names_in(folder)}


def names_in(folder: Path) -> Iterator[str]:
    """Names of a run's files, but for its lock and what is not yet whole.

    Sidecars come first, then their arrays, and the rest is listed only afterwards: so whoever reads
    file by file has, with each sidecar, all that it counts on.
    """
    checkpoints = RunFolder(folder).checkpoints
    with suppress(FileNotFoundError):
        for path in sorted(checkpoints.iterdir(), key=lambda path: path.suffix):
            if path.suffix != TEMPORARY:
                yield f"{checkpoints.name}/{path.name}"
    for path in sorted(folder.rglob("*")):
        is_ours = checkpoints not in path.parents and path.suffix != TEMPORARY
        if is_ours and path.is_file() and path != folder / LOCK:
            yield path.relative_to(folder).as_posix()


def sidecar_of(name: str) -> str | None:
    """The sidecar that a file of a checkpoint belongs to, or is; None for other files.

    >>> sidecar_of("checkpoints/000000007-5f70bf18a086.safetensors")
    'checkpoints/000000007.json'
    """
    place, _, file = name.rpartition("/")
    match = NAME.fullmatch(file) if place == "checkpoints" else None
    return f"{place}/{match[1]}.json" if match else None


def difference(name: str, seen: Seen | None, content: bytes) -> Change | None:
    """What to send of a file; of one that only grows, what is new."""
    if seen == _seen(content):
        return None
    grew = seen is not None and _grows(name) and _seen(content[: seen.length]) == seen
    keep = seen.length if seen is not None and grew else 0
    return Change(name, keep, content[keep:])


def write_home(folder: Path, changes: Sequence[Change]) -> None:
    """Write what changed elsewhere, in the order that keeps the folder a run at every moment.

    `DiskTrouble` if the disk does not take it; then the folder is as it was, or between.
    """
    for change in changes:
        _require_inside(change.name)
    new = [change for change in changes if change.content is not None]
    sidecars = [change for change in new if sidecar_of(change.name) == change.name]
    others = [change for change in new if change not in sidecars]
    for change in new:
        _make_folders(folder, change.name)
    for change in sidecars:  # staged, so that arrays beside them count as unfinished
        stage(folder / change.name, change.content or b"")
    for change in others:
        _write(folder / change.name, change.keep, change.content or b"")
    if sidecars:
        _sync(RunFolder(folder).metrics)
    for change in sidecars:
        publish(folder / change.name)
    gone = [folder / change.name for change in changes if change.content is None]
    remove(sorted(gone, key=lambda path: path.suffix))  # sidecars before what they vouch for


def _write(path: Path, keep: int, content: bytes) -> None:
    """Put a file in place, or in place of its end: readers of lines have it open."""
    if not keep:
        return write_durably(path, content)
    with writing(path), _opened(path) as descriptor:
        write_at(descriptor, content, keep)
        cut(descriptor, keep + len(content))


def _sync(path: Path) -> None:
    with writing(path), suppress(FileNotFoundError), _opened(path) as descriptor:
        sync(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _make_folders(folder: Path, name: str) -> None:
    for parent in reversed(PurePosixPath(name).parents[:-1]):
        make_folder(folder / parent)


def _require_inside(name: str) -> None:
    parts = PurePosixPath(name).parts
    inside = bool(parts) and ".." not in parts and not name.startswith("/") and name != LOCK
    require(
        inside, f"file {name!a:.80} of a run", "one in its folder", "Is the host to be trusted?"
    )


def _grows(name: str) -> bool:
    return name.endswith(LINES) or name.startswith("tensorboard/")


def _whole_part(name: str, content: bytes) -> bytes:
    """Without half a line at the end, which is not yet there."""
    return content[: content.rfind(b"\n") + 1] if name.endswith(LINES) else content


def _seen(content: bytes) -> Seen:
    return Seen(len(content), hashlib.sha256(content).hexdigest())


def _signature(path: Path) -> Signature:
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns
