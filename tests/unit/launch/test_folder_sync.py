"""The folder here follows the run on a host, and is a whole run whatever happens when."""

import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.errors import BadInput
from fmarl.launch import folder_sync
from fmarl.launch.folder_sync import (
    FileChange,
    FolderScanner,
    apply_changes,
    read_folder,
    sidecar_of,
)
from fmarl.records import atomic_files
from unit.launch.two_folders import (
    KINDS,
    Writer,
    contents,
    newest,
    require_whole,
    steps,
    two_folders,
)
from unit.records.faults import Killed, die, each_in_turn

MEMORY = Path("/dev/shm")


def temporary_folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)


@given(st.lists(steps, max_size=5))
def test_after_every_scan_the_folder_at_home_is_that_of_the_run(batches):
    with temporary_folder() as name:
        host, home = two_folders(Path(name))
        scanner, writer = FolderScanner(host, read_folder(home)), Writer(host)
        for batch in batches:
            for kind in batch:
                writer.do(kind)
            apply_changes(home, scanner.scan())
            found = contents(home)
            complete = contents(
                host, lambda one: sidecar_of(one) is None or (host / str(sidecar_of(one))).exists()
            )
            assert found == {one: content for one, content in complete.items()}
            assert scanner.scan() == []


@given(steps, st.lists(st.sampled_from(KINDS), min_size=20, max_size=40))
def test_a_run_that_writes_while_it_is_scanned_is_never_caught_halfway(before, meanwhile):
    with temporary_folder() as name, pytest.MonkeyPatch.context() as patch:
        host, home = two_folders(Path(name))
        scanner, writer = FolderScanner(host, read_folder(home)), Writer(host)
        for kind in before:
            writer.do(kind)
        original = folder_sync._signature

        def with_a_step(path: Path) -> folder_sync.Signature:
            if meanwhile:
                writer.do(meanwhile.pop(0))
            return original(path)

        patch.setattr(folder_sync, "_signature", with_a_step)
        while meanwhile:
            apply_changes(home, scanner.scan())
            require_whole(home)
            if not list(folder_sync.names_in(host))[1:]:
                break  # nothing to read yet but the description
        apply_changes(home, scanner.scan())
        assert newest(home) == newest(host)


@pytest.mark.parametrize("kinds", [KINDS, ("checkpoint", "line", *["checkpoint"] * 4)])
def test_a_kill_at_any_system_call_leaves_a_whole_run_at_home(kinds, monkeypatch):
    with temporary_folder() as name:
        host, home = two_folders(Path(name))
        scanner, writer = FolderScanner(host, read_folder(home)), Writer(host)
        for kind in ("line", "checkpoint", "line"):
            writer.do(kind)
        apply_changes(home, scanner.scan())
        for kind in kinds:
            writer.do(kind)
        changes, allowed = scanner.scan(), {newest(home), newest(host)}
        for faults in each_in_turn(die):
            struck = shutil.copytree(home, Path(name) / "struck")
            with monkeypatch.context() as patch, suppress(Killed):
                patch.setattr(atomic_files, "os", faults)
                apply_changes(struck, changes)
            require_whole(struck)
            assert newest(struck) in allowed
            shutil.rmtree(struck)


def test_lines_are_on_the_disk_before_the_checkpoint_that_counts_on_them(tmp_path, monkeypatch):
    host, home = two_folders(tmp_path)
    scanner, writer, order = FolderScanner(host, read_folder(home)), Writer(host), []
    for name in ("sync", "publish"):
        real = getattr(folder_sync, name)
        monkeypatch.setattr(
            folder_sync, name, lambda given, name=name, real=real: (order.append(name), real(given))
        )
    writer.do("line")
    apply_changes(home, scanner.scan())
    writer.do("checkpoint")
    apply_changes(home, scanner.scan())
    assert order == ["sync", "publish"]


def test_only_the_new_end_of_a_file_of_lines_is_sent(tmp_path):
    host, home = two_folders(tmp_path)
    scanner, writer = FolderScanner(host, read_folder(home)), Writer(host)
    writer.do("line")
    apply_changes(home, scanner.scan())
    writer.do("line")
    assert scanner.scan() == [FileChange("metrics.jsonl", 11, b'{"line":2}\n')]


def test_arrays_wait_for_their_sidecar(tmp_path):
    host, home = two_folders(tmp_path)
    scanner, writer = FolderScanner(host, read_folder(home)), Writer(host)
    writer.do("unfinished")
    assert scanner.scan() == []
    for staged in (host / "checkpoints").glob("*.tmp"):
        staged.rename(staged.with_suffix(""))
    assert [Path(change.name).suffix for change in scanner.scan()] == [".json", ".safetensors"]


@pytest.mark.parametrize("name", ["../run.json", "/etc/passwd", "a/../../b", "LOCK", ""])
def test_a_host_can_not_write_outside_the_folder(name, tmp_path):
    with pytest.raises(BadInput):
        apply_changes(tmp_path, [FileChange("fine", 0, b"x"), FileChange(name, 0, b"x")])
    assert list(tmp_path.iterdir()) == []
