"""Checkpoints that survive everything: a full disk, a kill at any instruction, damaged files.

Written in the order that makes it so: arrays, then the name of the sidecar that commits them, then
both are read back, and only then older ones are deleted. Reading takes the newest that is good in
every bit. It never guesses, and never tries a looser way of reading.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fmarl.errors import BadInput, require
from fmarl.records.atomic_files import (
    DiskTrouble,
    make_folder,
    publish,
    reason,
    remove,
    stage,
    temporary,
    write_durably,
    writing,
)
from fmarl.records.checkpoint_file import (
    Corrupt,
    Expected,
    Packed,
    layout,
    numbered_files,
    pack,
    unfinished_files,
    unpack,
)
from fmarl.records.events import EventCode, Note
from fmarl.records.run_folder import RunFolder, read_run

KEPT = 3


class Checkpoint(NamedTuple):
    """A state to go on from, every bit as it was written."""

    update_count: int
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]
    notes: list[Note]
    """Newer checkpoints that could not be used, and why."""


class NoGoodCheckpoint(RuntimeError):  # noqa: N818 — it reads as what happened
    """A run that nothing can be resumed from; nothing was changed."""

    def __init__(self, folder: Path, notes: list[Note]) -> None:
        self.notes = notes
        """Why each one could not be used; empty if none was ever committed."""
        why = "; ".join(note.detail for note in notes[:KEPT]) or "none was written yet"
        super().__init__(f"{folder} has no good checkpoint: {why}")


def write_checkpoint(
    folder: Path,
    update_count: int,
    arrays: Mapping[str, np.ndarray],
    facts: Mapping[str, Any],
    keep: int = KEPT,
) -> Path:
    """Commit the state of a run after so many updates, and return the file of its arrays.

    Args:
        folder: A run's folder; its lock must be held.
        update_count: Updates that were done.
        arrays: By name, of any of `DTYPES`.
        facts: Words, truth values, plain numbers (NaN too), and lists and dictionaries of them.
        keep: Checkpoints to keep, this one included.

    Raises:
        DiskTrouble: It was not committed, or can not be trusted. Those before are as they were.
    """
    require(keep >= 1, f"keep = {keep}", "keep >= 1", "Keep 3, for a disk may lie about one.")
    run_id = _run_id(folder)
    checkpoints = RunFolder(folder).checkpoints
    packed = pack(checkpoints, run_id, update_count, arrays, facts)
    make_folder(checkpoints)
    with writing(checkpoints):
        remove(unfinished_files(checkpoints))
    _commit(packed)
    try:
        unpack(checkpoints, run_id, update_count, layout(arrays))
    except Corrupt as problem:
        raise DiskTrouble(f"{packed.sidecar_path} reads back damaged: {problem}") from None
    with writing(checkpoints):
        remove(_outlived(packed.arrays_path, update_count, keep))
    return packed.arrays_path


def read_checkpoint(folder: Path, run_id: str, expected: Expected | None = None) -> Checkpoint:
    """Return the newest good checkpoint of this run.

    Args:
        folder: A run's folder.
        run_id: Of the run; a checkpoint of another is not used.
        expected: What arrays there must be; others are taken as they are.

    Raises:
        NoGoodCheckpoint: There is none.
    """
    checkpoints = RunFolder(folder).checkpoints
    notes: list[Note] = []
    for update_count in sorted(_counts(checkpoints, notes), reverse=True):
        try:
            arrays, facts = unpack(checkpoints, run_id, update_count, expected)
        except Corrupt as problem:
            notes.append(_corrupt(f"checkpoint {update_count:09} is not used: {problem}"))
        else:
            return Checkpoint(update_count, arrays, facts, notes)
    raise NoGoodCheckpoint(folder, notes)


def newest_checkpoint(folder: Path) -> int | None:
    """The update of the newest sidecar, good or not; None if there is none."""
    try:
        return max(_committed(numbered_files(RunFolder(folder).checkpoints)), default=None)
    except OSError:
        return None


def _commit(packed: Packed) -> None:
    stage(packed.sidecar_path, packed.sidecar)
    try:
        write_durably(packed.arrays_path, packed.arrays)
        publish(packed.sidecar_path)
    except DiskTrouble:
        unvouched = [] if packed.sidecar_path.exists() else [packed.arrays_path]
        remove([*unvouched, temporary(packed.sidecar_path)])
        raise


def _run_id(folder: Path) -> str:
    """A run whose description is lost could not be resumed: no checkpoint may promise it."""
    try:
        return read_run(folder)["run_id"]
    except BadInput as problem:
        raise DiskTrouble(str(problem)) from None


def _counts(checkpoints: Path, notes: list[Note]) -> set[int]:
    """Updates that were committed, good or not; a folder that can not be listed is noted."""
    try:
        unfinished = unfinished_files(checkpoints)
        files = numbered_files(checkpoints)
        return {update_count for path, update_count in files.items() if path not in unfinished}
    except FileNotFoundError:
        return set()
    except OSError as error:
        notes.append(_corrupt(f"{checkpoints} can not be read: {reason(error)}"))
        return set()


def _committed(files: Mapping[Path, int]) -> list[int]:
    """Updates that have a sidecar, oldest first."""
    return sorted(update_count for path, update_count in files.items() if path.suffix == ".json")


def _outlived(arrays_path: Path, update_count: int, keep: int) -> list[Path]:
    """Files to delete once this checkpoint is safe: sidecars first, so that none vouches for air.

    Later updates too: the run went back behind them, and its metrics were cut back with it.
    """
    files = numbered_files(arrays_path.parent)
    kept = [at for at in _committed(files) if at <= update_count][-keep:]
    outlived = [
        path
        for path, at in files.items()
        if at not in kept or (at == update_count and path.suffix != ".json" and path != arrays_path)
    ]
    return sorted(outlived, key=lambda path: path.suffix)


def _corrupt(detail: str) -> Note:
    return Note(EventCode.CKPT_CORRUPT, detail)
