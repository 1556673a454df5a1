"""A run's folder: what lies where in it, and how it begins.

A folder is a run from the moment `run.json` is in it, whole and synced. Everything else is made by
whoever writes it first.
"""

import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fmarl.errors import BadInput, require
from fmarl.records.atomic_files import (
    TEMPORARY,
    DiskTrouble,
    read_whole,
    reason,
    remove,
    sync_folder,
    write_durably,
)
from fmarl.records.lock import LOCK, RunHeld, hold
from fmarl.records.run_description import why_not_described
from fmarl.records.run_names import run_names
from fmarl.records.strict_json import LARGEST_SEALED, Malformed, seal, unseal

DESCRIPTION = "run.json"
# Control characters, half characters and line ends: messages would not fit on their line.
UNSPEAKABLE = ("Cc", "Cs", "Zl", "Zp")


class FolderTaken(BadInput):
    """A folder that can not become a run because something is in it."""


class RunFolder:
    """Where each part of a run lies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.description = path / DESCRIPTION
        """`read_run` reads it."""
        self.method = path / "method.json"
        """Sealed JSON: how its agents learn together, as `federation.method_file` writes it."""
        self.constants = path / "constants.json"
        """Sealed JSON: constants of the bounds, estimated when the run had ended."""
        self.metrics = path / "metrics.jsonl"
        """Lines that a resumed run leaves just as an uninterrupted one does."""
        self.events = path / "events.jsonl"
        """Lines about what went wrong, or was put right."""
        self.checkpoints = path / "checkpoints"
        """Folder of states to go on from."""
        self.frames = path / "frames"
        """Folder of test epochs for replay, as `frames.py` writes them."""
        self.tensorboard = path / "tensorboard"
        """Folder of event files."""
        self.samples = path / "samples"
        """Folder of slots on which the gradient norm is measured."""

    def frames_of(self, epoch: int) -> Path:
        """The test after so many epochs, for replay."""
        return self.frames / f"{epoch:06}.npz"


def create_run(folder: Path, description: dict[str, Any]) -> None:
    """Make a run of an empty or missing folder; `BadInput`, and nothing made, if that can not be.

    Args:
        folder: Its parents are made too.
        description: As `describe_run` returns it.
    """
    _require_speakable(folder)
    problem = why_not_described(description)
    require(not problem, f"a description where {problem}", "all fields", "Use describe_run.")
    content = seal(description)
    try:
        with _folder_or_nothing(folder):
            _require_free(folder)
            with hold(folder):
                _require_free(folder)  # again, for another process may have been as fast
                _write_or_nothing(RunFolder(folder).description, content)
    except OSError as error:
        raise _unusable(folder, reason(error)) from None
    except DiskTrouble as trouble:
        raise _unusable(folder, str(trouble)) from None


def create_named_run(
    parent: Path, description: dict[str, Any], world: str, method: str, seed: int
) -> Path:
    """Make a run under the first friendly name that is free, and return its folder."""
    names = run_names(world, method, seed)
    while True:
        folder = parent / next(names)
        with suppress(FolderTaken, RunHeld):
            create_run(folder, description)
            return folder


def read_run(folder: Path) -> dict[str, Any]:
    """What `create_run` was given; `BadInput` if this is not a run, or was changed since."""
    _require_speakable(folder)
    try:
        content = read_whole(RunFolder(folder).description, LARGEST_SEALED)
        description = unseal(content)
    except OSError as error:
        raise _not_a_run(folder, reason(error)) from None
    except Malformed as problem:
        raise _not_a_run(folder, str(problem)) from None
    problem = why_not_described(description)
    if problem:
        raise _not_a_run(folder, problem)
    return description


def _require_speakable(folder: Path) -> None:
    fine = all(unicodedata.category(character) not in UNSPEAKABLE for character in str(folder))
    require(fine, f"folder {str(folder)!a}", "a name without control characters", "Rename it.")


def _require_free(folder: Path) -> None:
    found = {name for name in os.listdir(folder) if not name.endswith(TEMPORARY)} - {LOCK}
    if DESCRIPTION in found:
        raise FolderTaken(f"{folder} holds a run already. Resume it, or use another folder.")
    if found:
        raise FolderTaken(f"{folder} is not empty. Use an empty folder, or a new one.")


@contextmanager
def _folder_or_nothing(folder: Path) -> Iterator[None]:
    """Make a folder and its parents, and take those made away again if the body fails."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in missing:
            sync_folder(path.parent)
        yield
    except BaseException:
        with suppress(OSError):  # somebody may use one of them by now
            for path in missing:
                path.rmdir()
        raise


def _write_or_nothing(path: Path, content: bytes) -> None:
    """Write a file that is not there yet, and leave none if the disk may not keep it."""
    try:
        write_durably(path, content)
    except DiskTrouble:
        remove([path])
        raise


def _unusable(folder: Path, why: str) -> BadInput:
    return BadInput(f"{folder} can not become a run: {why}. Use another folder.")


def _not_a_run(folder: Path, why: str) -> BadInput:
    return BadInput(
        f"{folder} is not a run: {DESCRIPTION}: {why}. Give a folder that fmarl train made."
    )
