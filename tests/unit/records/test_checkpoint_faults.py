"""What is committed survives: every system call that can fail, every moment to be killed at."""

import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from fmarl.records import atomic_files as durable
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.checkpoint import (
    NoGoodCheckpoint,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from fmarl.records.events import Note
from unit.records.faults import Faults, disk_full, each_in_turn
from unit.records.processes import python
from unit.records.runs import assert_good, assert_same, facts, make_run, state, write
from unit.records.small_disk import small_disk

NAMING = ("replace", "unlink")


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, str]:
    """A run's folder and its id."""
    folder = tmp_path / "run"
    return folder, make_run(folder)


def committed_with_a_fault(folder: Path, faults: Faults, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Write checkpoint 3 with one system call failing; whether that worked all the same."""
    with monkeypatch.context() as patched:
        patched.setattr(durable, "os", faults)
        try:
            write(folder, 3)
        except DiskTrouble as trouble:
            assert "No space left on device" in str(trouble)
            return False
    return True


def notes_of(folder: Path, run_id: str) -> list[Note]:
    """What was found damaged, whether anything good was found or not."""
    try:
        return read_checkpoint(folder, run_id).notes
    except NoGoodCheckpoint as none:
        return none.notes


@pytest.mark.parametrize("written", [(), (1, 2)])
def test_whichever_system_call_fails_what_was_committed_still_loads(tmp_path, monkeypatch, written):
    pattern = tmp_path / "pattern"
    run_id = make_run(pattern)
    write(pattern, *written)
    struck = set()
    for faults in each_in_turn(disk_full):
        folder = tmp_path / f"run {faults.left}"
        shutil.copytree(pattern, folder)
        taken = committed_with_a_fault(folder, faults, monkeypatch)
        struck.add(faults.struck)
        if written or taken:
            assert_good(folder, run_id, {3} if taken else {3, max(written)})
        assert notes_of(folder, run_id) == []
        assert not list(folder.glob("checkpoints/*.tmp"))
        write(folder, 3)
        assert_good(folder, run_id, {3})
    assert struck > {"open", "pwrite", "fsync", "replace", "close"}


def test_whichever_system_call_fails_an_update_written_anew_is_the_old_or_the_new(
    tmp_path, monkeypatch
):
    """The only checkpoint there is must not be lost while it is replaced."""
    pattern = tmp_path / "pattern"
    run_id = make_run(pattern)
    write_checkpoint(pattern, 3, state(30), facts(30))
    loaded = []
    for faults in each_in_turn(disk_full):
        folder = tmp_path / f"run {faults.left}"
        shutil.copytree(pattern, folder)
        committed_with_a_fault(folder, faults, monkeypatch)
        found = read_checkpoint(folder, run_id)
        loaded.append(3 if found.facts == facts(3) else 30)
        assert found.facts == facts(loaded[-1])
        assert_same(found.arrays, state(loaded[-1]))
    assert loaded == sorted(loaded, reverse=True) and set(loaded) == {3, 30}


def test_each_step_is_on_the_disk_before_the_next_begins(run, monkeypatch):
    """A power cut can not be made here, but the order that survives one can be read."""
    folder, _ = run
    write(folder, 1)
    done = []

    class Listening(Faults):
        def __getattr__(self, name):
            real = super().__getattr__(name)

            def call(*given):
                done.append((name, Path(given[-1]).suffix if name in NAMING else ""))
                return real(*given)

            return call if name in ("pwrite", "fsync", *NAMING) else real

    with monkeypatch.context() as patched:
        patched.setattr(durable, "os", Listening(10**6, disk_full))
        write_checkpoint(folder, 2, state(2), facts(2), keep=1)
    written, synced = ("pwrite", ""), ("fsync", "")
    staged = [written, synced]
    arrays = [written, synced, ("replace", ".safetensors"), synced]
    committed = [("replace", ".json"), synced]
    deleted = [("unlink", ".json"), ("unlink", ".safetensors")]
    assert done == [*staged, *arrays, *committed, *deleted]


def test_a_disk_that_lies_is_found_out_before_older_checkpoints_go(run, monkeypatch):
    folder, run_id = run
    write(folder, 1)

    class Lying(Faults):
        def __getattr__(self, name):
            real = super().__getattr__(name)
            if name != "pwrite":
                return real
            return lambda place, content, at: real(place, bytes(len(content)), at)

    with monkeypatch.context() as patched:
        patched.setattr(durable, "os", Lying(10**6, disk_full))
        with pytest.raises(DiskTrouble, match="reads back damaged: its sidecar is damaged"):
            write_checkpoint(folder, 2, state(2), facts(2), keep=1)
    assert_good(folder, run_id, {1})


KILL_AT_EVERY_CALL = """
import os, sys
from itertools import count
from pathlib import Path
from shutil import copytree
from fmarl.records import atomic_files as durable
from unit.records.faults import Faults, kill
from unit.records.runs import write

parent = Path(sys.argv[1])
for at in count():
    folder = parent / f"run {at}"
    copytree(parent / "pattern", folder)
    child = os.fork()
    if child == 0:
        durable.os = Faults(at, kill)
        write(folder, *map(int, sys.argv[2:]))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
    if not os.WIFSIGNALED(status):
        break
"""


def killed_at_every_call(parent: Path, *update_counts: int) -> list[Path]:
    """Copies of `pattern`, each written to by a process that was killed a call later."""
    with python(KILL_AT_EVERY_CALL, str(parent), *map(str, update_counts)) as process:
        output, _ = process.communicate(timeout=60)
    codes = [int(line) for line in output.split()]
    assert codes == [-signal.SIGKILL] * (len(codes) - 1) + [0]
    return [parent / f"run {at}" for at in range(len(codes))]


def test_a_process_killed_at_any_system_call_leaves_a_good_checkpoint(tmp_path):
    run_id = make_run(tmp_path / "pattern")
    write(tmp_path / "pattern", 1, 2)
    found = []
    for folder in killed_at_every_call(tmp_path, 3, 4):
        assert_good(folder, run_id, {2, 3, 4})
        assert notes_of(folder, run_id) == []
        found.append(read_checkpoint(folder, run_id).update_count)
        write(folder, 5)
        assert_good(folder, run_id, {5})
        assert not list(folder.glob("checkpoints/*.tmp"))
    assert found == sorted(found) and set(found) == {2, 3, 4}


def test_a_process_killed_in_its_first_checkpoint_has_none_rather_than_a_damaged_one(tmp_path):
    """So that the run may begin again, where a run that has lost its checkpoints may not."""
    run_id = make_run(tmp_path / "pattern")
    folders = killed_at_every_call(tmp_path, 3)
    assert all(notes_of(folder, run_id) == [] for folder in folders)
    counts = [newest_checkpoint(folder) or 0 for folder in folders]
    assert counts == sorted(counts) and set(counts) == {0, 3}


WRITE_AND_SAY_SO = """
import sys
from pathlib import Path
from unit.records.runs import write

for update_count in range(10**6):
    write(Path(sys.argv[1]), update_count)
    print(update_count, flush=True)
"""


def test_what_a_killed_process_said_it_had_written_is_there(run):
    folder, run_id = run
    with python(WRITE_AND_SAY_SO, str(folder)) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "20\n":
            assert process.poll() is None
        process.kill()
        said = process.stdout.read().split("\n")[:-1]
    last = int(said[-1]) if said else 20
    assert_good(folder, run_id, {last, last + 1})


def test_a_disk_that_is_really_full_costs_nothing_that_was_there(tmp_path):
    large = {"x": np.random.default_rng(0).random(7_000)}  # 56 kB: not four of them in 200 kB
    with small_disk(tmp_path) as disk:
        folder = disk / "run"
        run_id = make_run(folder)
        kept = []
        with pytest.raises(DiskTrouble, match="No space left on device"):
            for update_count in range(10):
                write_checkpoint(folder, update_count, large, {}, keep=10)
                kept.append(update_count)
        found = read_checkpoint(folder, run_id)
        assert found.update_count == kept[-1]
        assert_same(found.arrays, large)
        assert not list(folder.glob("checkpoints/*.tmp"))
        for path in folder.glob("checkpoints/000000000*"):
            path.unlink()  # the user makes room
        write_checkpoint(folder, 10, large, {}, keep=10)
        assert read_checkpoint(folder, run_id).update_count == 10
