"""A disk that is really full: a file system of 200 kB, where this machine lets us mount one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount it for the body, or skip the test with the reason."""
    place = tmp_path / "small disk"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(place)]
    try:
        done = subprocess.run(mounting, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"mounting is not possible here: {error}")
    if done.returncode != 0:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    try:
        yield place
    finally:  # lazily: a test that fails with a file open must not leave the mount to others
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> None:
    """Leave no room for a single byte."""
    with (disk / "filling").open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
