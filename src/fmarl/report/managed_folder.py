"""A folder of files that are made again and again: nothing that somebody else put there is touched.

Beside the files lies a list of their names. Only what is on it is ever replaced or deleted.
"""

from collections.abc import Mapping
from pathlib import Path

from fmarl.errors import BadInput, require
from fmarl.records.atomic_files import DiskTrouble, read_whole, reason, remove, write_durably
from fmarl.records.run_folder import RunFolder
from fmarl.records.strict_json import LARGEST_SEALED, Malformed, seal, unseal

LIST, PAGE = "files.json", "report.html"


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put files in place, and take away those of the last time that are not among them.

    Args:
        folder: Is made, with its parents, if it is not there.
        files: By name; names may have folders before them.
    """
    ours = _names(folder / LIST)
    _require_free(folder, [name for name in (LIST, *files) if name not in ours])
    require_place_for_report(folder)
    try:
        for place in {(folder / name).parent for name in files}:
            place.mkdir(parents=True, exist_ok=True)
        # First, so that whatever ends this half-way leaves nothing that we would not know again.
        _write_names(folder, {*ours, *files})
        for name, content in files.items():
            write_durably(folder / name, content)
        remove(folder / name for name in sorted(ours - {LIST, *files}))
        _write_names(folder, set(files))
    except OSError as error:
        raise _unwritable(folder, reason(error)) from None
    except DiskTrouble as trouble:
        raise _unwritable(folder, str(trouble)) from None


def require_place_for_report(folder: Path) -> None:
    """Refuse a folder that is full of other things, such as `/`: a slip would scatter files."""
    is_run = RunFolder(folder).description.exists()
    fix = f"Use --out {folder / 'report'}."
    require(not is_run, f"{folder}, a run,", "a folder for the report", fix)
    try:
        is_used = folder.is_dir() and any(folder.iterdir())
    except OSError as error:
        raise _unwritable(folder, reason(error)) from None
    ours = any((folder / name).exists() for name in (LIST, PAGE))
    allowed = "a new or an empty folder, or one with an earlier report"
    require(ours or not is_used, f"to write a report into {folder}", allowed, fix)


def _write_names(folder: Path, names: set[str]) -> None:
    write_durably(folder / LIST, seal({"files": sorted({LIST, *names})}))


def _names(path: Path) -> set[str]:
    """What we have written there; nothing, if the list is not one of ours."""
    try:
        names = unseal(read_whole(path, LARGEST_SEALED)).get("files", [])
    except (OSError, Malformed):
        return set()
    inside = path.parent.resolve()
    return {
        name
        for name in names
        if isinstance(name, str) and (inside / name).resolve().is_relative_to(inside)
    }


def _require_free(folder: Path, names: list[str]) -> None:
    fix = "Choose another with --out."
    taken = next((folder / name for name in names if (folder / name).exists()), None)
    require(taken is None, f"to replace {taken}", "what fmarl report has written", fix)


def _unwritable(folder: Path, why: str) -> BadInput:
    return BadInput(f"{folder} can not be written to: {why}. Choose another with --out.")
