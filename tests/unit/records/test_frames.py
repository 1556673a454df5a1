from pathlib import Path

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.records.frames import read_frames, write_frames


def frames() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    rows = [random.uniform(-700, 700, (count, 3)).astype(np.float32) for count in (3, 5, 4)]
    for frame in rows:
        frame[:, 2] = np.abs(frame[:, 2]) / 30
    rows[1][0] = np.nan
    return rows


def test_frames_come_back_as_they_were_up_to_a_centimetre_or_two(tmp_path: Path):
    path = tmp_path / "epoch.npz"
    write_frames(path, frames())
    read = read_frames(path)
    assert read.shape == (3, 5, 3)
    for time, frame in enumerate(frames()):
        assert np.allclose(read[time, : len(frame), :2], frame[:, :2], atol=0.013, equal_nan=True)
        assert np.allclose(read[time, : len(frame), 2], frame[:, 2], atol=0.006, equal_nan=True)
        assert np.isnan(read[time, len(frame) :]).all()


def test_an_epoch_of_fifty_vehicles_is_a_few_hundred_kilobytes(tmp_path: Path):
    speeds = np.random.default_rng(0).uniform(0, 20, (1500, 50)).astype(np.float32)
    driven = np.cumsum(speeds * 0.1, axis=0) % 700
    places = np.stack([driven, np.full_like(driven, 140), speeds], axis=-1)
    write_frames(tmp_path / "epoch.npz", list(places))
    assert (tmp_path / "epoch.npz").stat().st_size < 450_000


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + b"\x00" * 50])
def test_a_file_that_is_not_frames_gets_one_line(tmp_path: Path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(BadInput, match="not a file of frames"):
        read_frames(tmp_path / "bad.npz")


def test_a_pickle_inside_is_never_opened(tmp_path: Path):
    np.savez(tmp_path / "evil.npz", frames=np.array([{"a": 1}], dtype=object))
    with pytest.raises(BadInput, match="not a file of frames"):
        read_frames(tmp_path / "evil.npz")


def test_wrong_shapes_missing_folders_and_no_frames_are_refused(tmp_path: Path):
    np.savez(tmp_path / "flat.npz", frames=np.zeros(3, dtype=np.int16))
    with pytest.raises(BadInput, match="time × thing"):
        read_frames(tmp_path / "flat.npz")
    with pytest.raises(BadInput, match="can not be written"):
        write_frames(tmp_path / "none" / "epoch.npz", frames())
    with pytest.raises(BadInput, match="no frames"):
        write_frames(tmp_path / "epoch.npz", [])
    with pytest.raises(BadInput, match="819"):
        write_frames(tmp_path / "epoch.npz", [np.full((1, 3), 900, dtype=np.float32)])
