"""Folders on a host that are gone when they are not used any more, even if their user was killed.

Nobody cleans up behind a process that is killed, so whoever makes such a folder next does. A lock
in each tells whether somebody still lives in it.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fmarl.records.lock import hold, holder, is_held

PLACE = Path("/tmp")
"""Ray's sockets must lie under a short name, which TMPDIR may not be."""


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """A new folder for as long as the body runs; left ones of the same purpose are taken away."""
    place = PLACE if PLACE.is_dir() else Path(tempfile.gettempdir())
    prefix = f"fmarl-{purpose}-"
    for left in place.glob(f"{prefix}*"):
        if holder(left) and not is_held(left):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    try:
        with hold(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
