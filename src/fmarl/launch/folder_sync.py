"""A run's folder on two machines: what a host has changed in its copy is written to ours.

Our folder is a whole run at every moment, as if it had been trained here: a kill of anything
between any two writes leaves what `fmarl resume` can start from. So everything that a checkpoint
counts on is written before the sidecar that commits it, and nothing is sent that is not finished.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
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


class FileChange(NamedTuple):
    """What happened to a file since the last scan."""

    name: str
    """Its path below the folder."""
    keep: int
    """Bytes at its beginning that are as they were."""
    content: bytes | None
    """What comes after them; None if the file is gone."""


class FileDigest(NamedTuple):
    """A file as the other side has it."""

    length: int
    sha256: str


class FolderScanner:
    """Finds what has changed in a folder that is being written to."""

    def __init__(self, folder: Path, known: Mapping[str, bytes]) -> None:
        self._folder = folder
        self._sent = {name: _digest(content) for name, content in known.items()}
        self._signatures: dict[str, Signature] = {}

    def scan(self) -> list[FileChange]:
        """What changed since the last scan; a run may write meanwhile.

        Arrays without their sidecar are not sent, for they may be unfinished. What vanishes during
        a scan is gone only at the next one, which finds what has come in its place.
        """
        listed, read = self._read_all()
        for name in [name for name in read if sidecar_of(name) == name]:
            if not (self._folder / name).exists():  # its arrays may be gone too
                del read[name]
        whole = {name for name in read if sidecar_of(name) in (None, *read) or name in self._sent}
        for name in listed - whole:
            self._signatures.pop(name, None)
        changes = [self._changed(name, content) for name, content in read.items() if name in whole]
        return [*filter(None, changes), *self._gone(self._sent.keys() - listed)]

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

    def _changed(self, name: str, content: bytes | None) -> FileChange | None:
        """What to send of a file; of one that only grows, what is new."""
        sent = self._sent.get(name)
        if content is None or sent == _digest(content):
            return None
        self._sent[name] = _digest(content)
        grew = sent is not None and _grows(name) and _digest(content[: sent.length]) == sent
        keep = sent.length if sent is not None and grew else 0
        return FileChange(name, keep, content[keep:])

    def _gone(self, names: Collection[str]) -> list[FileChange]:
        for name in names:
            del self._sent[name]
            self._signatures.pop(name, None)
        return [FileChange(name, 0, None) for name in names]


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


def apply_changes(folder: Path, changes: Sequence[FileChange]) -> None:
    """Write what a host has changed, in the order that keeps the folder a run at every moment.

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
    remove(sorted(gone, key=lambda path: path.suffix))  # sidecars before their arrays


def _write(path: Path, keep: int, content: bytes) -> None:
    """Put a file in place, or in place of its end: readers of lines have it open."""
    if not keep:
        return write_durably(path, content)
    with writing(path), path.open("r+b", buffering=0) as file:
        write_at(file.fileno(), content, keep)
        cut(file.fileno(), keep + len(content))


def _sync(path: Path) -> None:
    with writing(path), suppress(FileNotFoundError), path.open("r+b", buffering=0) as file:
        sync(file.fileno())


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


def _digest(content: bytes) -> FileDigest:
    return FileDigest(len(content), hashlib.sha256(content).hexdigest())


def _signature(path: Path) -> Signature:
    state = path.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns
