"""Sources of fmarl that differ from ours, for a host that has another version."""

import shutil
from pathlib import Path

import fmarl


def changed_copy(folder: Path, file: str, old: str, new: str) -> Path:
    """Our sources with one place that reads otherwise; the folder to give to `Host.start_ray`."""
    package = folder / "fmarl"
    shutil.copytree(
        Path(fmarl.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    text = (package / file).read_text()
    assert text.count(old) == 1, f"{old!r} is not in {file} exactly once"
    (package / file).write_text(text.replace(old, new))
    return folder
