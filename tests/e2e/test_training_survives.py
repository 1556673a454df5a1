"""Training while things break: worlds are killed, and the disk fills up."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fmarl.engine import run_writer as writer
from fmarl.engine.run import begin, resume, train
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.jsonl import read_lines
from unit.engine.small_experiments import toy


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(toy(), tmp_path_factory.mktemp("runs") / "whole")


def _workers() -> list[int]:
    """Worker processes that this process has started."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [
        int(child)
        for child in children
        if b"fmarl.rollout.play" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def test_killing_every_world_in_mid_training_changes_no_bit(whole, tmp_path):
    def listen(line: dict) -> None:
        if line["kind"] == "epoch" and line["epoch"] in (1, 3):
            for worker in _workers():
                os.kill(worker, signal.SIGKILL)

    run = train(toy(), tmp_path / "run", listen=listen)
    assert run.digest == whole.digest
    assert (run.folder / "metrics.jsonl").read_bytes() == (
        whole.folder / "metrics.jsonl"
    ).read_bytes()
    codes = [event["code"] for event in read_lines(run.folder / "events.jsonl").records]
    assert codes.count("WORLD_CRASHED") == codes.count("WORLD_RESTORED") == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that is easily filled."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_ends_the_run_and_room_lets_it_go_on(whole, small_disk, monkeypatch):
    monkeypatch.setattr(writer, "DISK_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", 0.0)
    filler = small_disk / "filler"

    def listen(line: dict) -> None:
        if line["kind"] == "epoch" and line["epoch"] == 3:
            filler.write_bytes(bytes(_room(small_disk)))

    folder = begin(toy(), small_disk / "run")
    with pytest.raises(DiskTrouble):
        resume(folder, listen=listen)
    filler.unlink()
    again = resume(folder)
    assert again.digest == whole.digest
    metrics = [(place / "metrics.jsonl").read_bytes() for place in (folder, whole.folder)]
    assert metrics[0] == metrics[1]


def _room(place: Path) -> int:
    free = os.statvfs(place)
    return free.f_bavail * free.f_frsize
