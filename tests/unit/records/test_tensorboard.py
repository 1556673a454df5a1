import os
import struct
from pathlib import Path

import pytest
from tensorboardX.proto import event_pb2

from fmarl.records import tensorboard as board_module
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.tensorboard import Board
from unit.records.processes import python


def events(folder: Path) -> list:
    """All events, in the order TensorBoard reads them: file by file, sorted by name."""
    found = []
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        while len(content) >= 12:
            (length,) = struct.unpack("<Q", content[:8])
            if len(content) < 16 + length:
                break
            event_type = event_pb2.Event  # pyright: ignore[reportAttributeAccessIssue] — generated
            found.append(event_type.FromString(content[12 : 12 + length]))
            content = content[16 + length :]
    return found


def curve(folder: Path, name: str) -> list[tuple[int, float]]:
    """Points as TensorBoard shows them: a start drops what it has read from its step on."""
    points: list[tuple[int, float]] = []
    for event in events(folder):
        if event.HasField("session_log"):
            points = [point for point in points if point[0] < event.step]
        points += [(event.step, one.simple_value) for one in event.summary.value if one.tag == name]
    return points


def test_curves_come_back(tmp_path: Path):
    with Board(tmp_path / "tensorboard", first_step=0) as board:
        board.log(0, {"nas": 0.5, "loss": 2.0})
        board.log(1, {"nas": 0.75})
    assert curve(tmp_path / "tensorboard", "nas") == [(0, 0.5), (1, 0.75)]
    assert curve(tmp_path / "tensorboard", "loss") == [(0, 2.0)]
    assert events(tmp_path / "tensorboard")[0].file_version == "brain.Event:2"


def test_a_resumed_run_shows_no_point_twice(tmp_path: Path):
    """Two starts within a second, of which the first was killed in the middle of a record."""
    with Board(tmp_path, first_step=0) as board:
        for step in range(6):
            board.log(step, {"nas": 0.0})
    (first,) = tmp_path.iterdir()
    first.write_bytes(first.read_bytes()[:-5])
    with Board(tmp_path, first_step=3) as board:
        for step in range(3, 8):
            board.log(step, {"nas": 1.0})
    assert len(os.listdir(tmp_path)) == 2
    assert curve(tmp_path, "nas") == [(step, float(step >= 3)) for step in range(8)]


def test_points_can_be_seen_while_the_run_goes_on(tmp_path: Path, monkeypatch):
    with Board(tmp_path, first_step=0) as board:
        board.log(0, {"nas": 0.5})
        board.flush()
        assert curve(tmp_path, "nas") == [(0, 0.5)]
        monkeypatch.setattr(board_module, "FLUSH_SECONDS", -1.0)
        board.log(1, {"nas": 0.5})
        assert curve(tmp_path, "nas") == [(0, 0.5), (1, 0.5)]


def test_a_folder_below_a_file_is_disk_trouble(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskTrouble, match="Not a directory"):
        Board(tmp_path / "file" / "tensorboard", first_step=0)


def test_a_folder_that_is_called_like_a_cloud_is_a_folder(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Board(Path("s3:runs"), first_step=0) as board:
        board.log(0, {"nas": 0.5})
    assert curve(tmp_path / "s3:runs", "nas") == [(0, 0.5)]


def test_records_load_neither_jax_nor_protobuf_until_a_board_is_opened():
    script = """
import pkgutil, sys
from importlib import import_module
import fmarl.records

for module in pkgutil.iter_modules(fmarl.records.__path__):
    import_module(f"fmarl.records.{module.name}")
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""
    with python(script) as process:
        loaded = process.communicate(timeout=60)[0].split()
    assert "safetensors" in loaded
    assert not {"jax", "tensorboardX", "google", "torch", "matplotlib"} & set(loaded)
