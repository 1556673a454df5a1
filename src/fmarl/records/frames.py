"""Frames: where everything was in each step of an epoch, small enough to keep and to send.

A frame has a row (x, y, speed) per thing. Numbers are kept as 16-bit multiples of 2.5 cm and of
1 cm/s, which is finer than a screen shows; a thing that is not there is not a number.
"""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Int16

from fmarl.errors import BadInput, require

UNITS = np.array([0.025, 0.025, 0.01])
"""What one count is worth, in metres, metres, and metres per second."""
ABSENT = np.iinfo(np.int16).min
LARGEST_FILE = 200_000_000


def write_frames(path: Path, frames: Sequence[Float32[np.ndarray, "_ 3"]]) -> None:
    """Write the frames of one epoch; later frames may have more or fewer things."""
    require(len(frames) > 0, "no frames", "at least one", "Record an epoch first.")
    most = max(len(frame) for frame in frames)
    stacked = np.full((len(frames), most, 3), ABSENT, dtype=np.int16)
    for time, frame in enumerate(frames):
        stacked[time, : len(frame)] = _counts(frame)
    content = io.BytesIO()
    np.savez_compressed(content, frames=stacked)
    try:
        path.write_bytes(content.getvalue())
    except OSError as error:
        raise BadInput(f"{path} can not be written: {error.strerror}. Check the folder.") from None


def read_frames(path: Path) -> Float32[np.ndarray, "time thing 3"]:
    """The frames of a file, with not-a-number where there was nothing."""
    counts = read_counts(path)
    return np.where(counts == ABSENT, np.nan, counts * UNITS).astype(np.float32)


def read_counts(path: Path) -> Int16[np.ndarray, "time thing 3"]:
    """The frames of a file as they are kept: in `UNITS`, `ABSENT` where there was nothing."""
    try:
        require(
            path.stat().st_size <= LARGEST_FILE, f"{path}", "at most 200 MB", "Is it a frames file?"
        )
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            counts = archive["frames"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{path} is not a file of frames: {error}. Record it again.") from None
    whole = counts.ndim == 3 and counts.shape[2] == 3 and counts.dtype == np.int16
    require(whole, f"{path} of shape {counts.shape}", "time × thing × 3", "Record it again.")
    return counts


def _counts(frame: Float32[np.ndarray, "_ 3"]) -> np.ndarray:
    counts = np.round(frame / UNITS)
    inside = np.isnan(counts) | (np.abs(counts) < -ABSENT)
    require(
        bool(inside.all()), "a frame beyond 819 m", "x and y within ±819 m", "Shift the origin."
    )
    return np.where(np.isnan(counts), ABSENT, counts).astype(np.int16)
