"""A run's folder that changes at random, as a run changes it, and what its copy must be."""

import shutil
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from fmarl.launch.folder_sync import names_in
from fmarl.records.atomic_files import stage, write_durably
from fmarl.records.checkpoint import NoGoodCheckpoint, read_checkpoint, write_checkpoint
from fmarl.records.checkpoint_file import pack
from fmarl.records.jsonl import LineWriter, read_lines
from fmarl.records.run_folder import RunFolder, read_run
from unit.records.runs import make_run, state

KINDS = ("line", "event", "half a line", "checkpoint", "sample", "unfinished", "method", "go back")
steps = st.lists(st.sampled_from(KINDS), max_size=12)


class Writer:
    """Does to a run's folder what a run does, one step at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.update_count, self.line = RunFolder(folder), 0, 0

    def do(self, kind: str) -> None:
        """One step; a checkpoint counts on all lines and samples before it."""
        getattr(self, f"_{kind.replace(' ', '_')}")()

    def _line(self) -> None:
        self.line += 1
        with LineWriter(self.folder.metrics) as writer:
            writer.append({"line": self.line})

    def _event(self) -> None:
        with LineWriter(self.folder.events) as writer:
            writer.append({"code": "X", "line": self.line})

    def _half_a_line(self) -> None:
        with self.folder.metrics.open("ab") as file:
            file.write(b'{"line": ')

    def _checkpoint(self) -> None:
        with LineWriter(self.folder.metrics) as writer:
            end = writer.position
        self._sample()
        facts = {"metrics_end": end}
        write_checkpoint(self.folder.path, self.update_count, state(self.update_count), facts)

    def _sample(self) -> None:
        self.update_count += 1
        self.folder.samples.mkdir(exist_ok=True)
        write_durably(self.folder.samples / f"{self.update_count:09}", b"slot")

    def _unfinished(self) -> None:
        """What a run leaves that is killed while it writes a checkpoint."""
        self.folder.checkpoints.mkdir(exist_ok=True)
        run_id = read_run(self.folder.path)["run_id"]
        packed = pack(self.folder.checkpoints, run_id, self.update_count + 1, state(3), {})
        stage(packed.sidecar_path, packed.sidecar)
        write_durably(packed.arrays_path, packed.arrays)

    def _method(self) -> None:
        write_durably(self.folder.method, f"{self.line}".encode())

    def _go_back(self) -> None:
        """A run that is resumed from its last checkpoint drops the lines behind it."""
        with LineWriter(self.folder.metrics) as writer:
            writer.truncate_to(newest(self.folder.path)[1])


def newest(folder: Path) -> tuple[int, int]:
    """Update and end of metrics of the newest good checkpoint; zeros if there never was one."""
    try:
        found = read_checkpoint(folder, read_run(folder)["run_id"])
    except NoGoodCheckpoint as problem:
        assert problem.notes == []
        return 0, 0
    return found.update_count, found.facts["metrics_end"]


def two_folders(parent: Path) -> tuple[Path, Path]:
    """A run, and its copy."""
    host, home = parent / "host", parent / "home"
    make_run(host)
    shutil.copytree(host, home)
    return host, home


def require_whole(home: Path) -> None:
    """All that the newest checkpoint counts on is there, and no sidecar lacks its arrays."""
    for sidecar in RunFolder(home).checkpoints.glob("*.json"):
        assert list(sidecar.parent.glob(f"{sidecar.stem}-*.safetensors")), sidecar
    update_count, end = newest(home)
    lines = read_lines(RunFolder(home).metrics)
    assert lines.position >= end
    numbers = [line["line"] for line in lines.records]
    assert numbers == sorted(numbers)
    samples = {path.name for path in RunFolder(home).samples.glob("[0-9]" * 9)}
    kept = {name for name in samples if int(name) <= update_count}
    assert len(kept) == update_count


def contents(folder: Path, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, bytes]:
    """All files by name, lines without half a one at the end."""
    found = {}
    for name in filter(wanted, names_in(folder)):
        content = (folder / name).read_bytes()
        found[name] = content[: content.rfind(b"\n") + 1] if name.endswith("l") else content
    return found
