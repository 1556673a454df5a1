import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.checkpoint import (
    NoGoodCheckpoint,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from fmarl.records.checkpoint_file import DTYPES
from fmarl.records.events import EventCode
from fmarl.records.strict_json import seal
from unit.records.runs import assert_good, assert_same, make_run, names, state, write


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, str]:
    """A run's folder and its id."""
    folder = tmp_path / "run"
    return folder, make_run(folder)


def test_arrays_of_every_dtype_and_shape_come_back_as_they_were(run):
    folder, run_id = run
    square = np.arange(12).reshape(3, 4)
    arrays = {f"{dtype} {i}": square.astype(dtype)[i:] for dtype in DTYPES for i in range(4)}
    arrays |= {
        "scalar": np.array(3, np.int64),
        "transposed": square.astype(np.float32).T,
        "every second": square.astype(np.float64)[:, ::2],
        "big-endian": square.astype(">f4"),
        "no rows": np.zeros((0, 3), np.uint8),
        "names with ünïcode": np.array([np.nan, np.inf, -0.0], np.float32),
    }
    write_checkpoint(folder, 0, arrays, {})
    arrays["big-endian"] = arrays["big-endian"].astype(np.float32)
    assert_same(read_checkpoint(folder, run_id).arrays, arrays)


def test_the_newest_is_read_and_three_are_kept(run):
    folder, run_id = run
    write(folder, 0, 7, 14, 21, 28)
    found = read_checkpoint(folder, run_id)
    assert (found.update_count, found.notes) == (28, [])
    assert_good(folder, run_id, {28})
    stems = {name[:9] for name in names(folder / "checkpoints")}
    assert stems == {"000000014", "000000021", "000000028"}
    assert len(names(folder / "checkpoints")) == 6


def test_what_the_run_went_back_behind_is_deleted_only_after_the_new_one_is_safe(run):
    folder, run_id = run
    write(folder, 10, 20, 30)
    for sidecar in ("000000020.json", "000000030.json"):
        (folder / "checkpoints" / sidecar).write_bytes(b"{}")
    assert_good(folder, run_id, {10})
    write(folder, 15)
    assert {name[:9] for name in names(folder / "checkpoints")} == {"000000010", "000000015"}


def test_writing_an_update_again_replaces_it_and_leaves_nothing_behind(run):
    folder, run_id = run
    write_checkpoint(folder, 5, state(1), {"first": True})
    write_checkpoint(folder, 5, state(2), {"first": False})
    found = read_checkpoint(folder, run_id)
    assert_same(found.arrays, state(2))
    assert found.facts == {"first": False}
    assert len(names(folder / "checkpoints")) == 2


def rename(arrays: Path, sidecar: Path) -> None:
    arrays.rename(arrays.with_name(arrays.name.replace("3", "4", 1)))
    sidecar.rename(sidecar.with_name("000000004.json"))


def replace_by(make: Callable[[Path], object]) -> Callable[[Path, Path], None]:
    def harm(_: Path, sidecar: Path) -> None:
        sidecar.unlink()
        make(sidecar)

    return harm


def rewrite(change: Callable[[bytes], bytes], which: int = 0) -> Callable[..., object]:
    return lambda *files: files[which].write_bytes(change(files[which].read_bytes()))


HARMS = [
    (rewrite(lambda old: old[:-1]), "its arrays have 727 bytes where 728 were written"),
    (
        rewrite(lambda old: old + b"x"),
        "its arrays can not be read: it has 729 bytes, more than 728",
    ),
    (rewrite(lambda _: b""), "its arrays have 0 bytes where 728 were written"),
    (
        rewrite(lambda old: old[:-1] + bytes([old[-1] ^ 1])),
        "its arrays are not those that were written: their sha256 differs",
    ),
    (lambda arrays, _: arrays.unlink(), "its arrays can not be read: No such file or directory"),
    (lambda _, sidecar: sidecar.unlink(), "its sidecar can not be read: No such file or directory"),
    (rewrite(lambda old: bytes(len(old)), 1), "its sidecar is damaged: it is not JSON"),
    (
        rewrite(lambda old: old.replace(b"300", b"301"), 1),
        "its sidecar is damaged: it was changed after it was written",
    ),
    (rewrite(lambda _: seal({}), 1), "its sidecar is none that this version writes"),
    (rename, "it was written as that of update 3"),
    (replace_by(Path.mkdir), "its sidecar can not be read: Is a directory"),
    (replace_by(os.mkfifo), "its sidecar can not be read: it is not a regular file"),
    (
        replace_by(lambda path: path.symlink_to(path)),
        "its sidecar can not be read: Too many levels of symbolic links",
    ),
]


@pytest.mark.parametrize(("harm", "reason"), HARMS, ids=[reason for _, reason in HARMS])
def test_a_damaged_checkpoint_is_passed_over_with_its_reason(run, harm, reason):
    folder, run_id = run
    write(folder, 1, 2, 3)
    harm(next(folder.glob("checkpoints/000000003-*")), folder / "checkpoints/000000003.json")
    found = read_checkpoint(folder, run_id)
    assert_good(folder, run_id, {2})
    assert [note.code for note in found.notes] == [EventCode.CKPT_CORRUPT]
    assert reason in found.notes[0].detail
    assert "\n" not in found.notes[0].detail


def test_a_checkpoint_of_another_run_is_passed_over(run, tmp_path):
    folder, run_id = run
    other = tmp_path / "other"
    other_id = make_run(other)
    write(folder, 1)
    write(other, 2)
    shutil.copytree(other / "checkpoints", folder / "checkpoints", dirs_exist_ok=True)
    found = read_checkpoint(folder, run_id)
    assert found.update_count == 1
    assert f"it belongs to run '{other_id}'" in found.notes[0].detail


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        ({"parameters": ("float32", (3, 40)), "actions": (np.float32, (None, 3))}, ""),
        ({"parameters": (np.dtype("float32"), (4, 40))}, "is float32 (3, 40), not float32 (4, 40)"),
        ({"parameters": ("float64", (3, 40))}, "is float32 (3, 40), not float64 (3, 40)"),
        ({"parameters": ("float32", (3, 40, 1))}, "not float32 (3, 40, 1)"),
        ({"update_count": ("int32", (None,))}, "is int32 (), not int32 (None,)"),
        ({"momentum": ("float32", (3, 40))}, "it has no array 'momentum'"),
    ],
)
def test_arrays_that_do_not_fit_this_program_are_not_used(run, expected, reason):
    folder, run_id = run
    write(folder, 2)
    if not reason:
        assert read_checkpoint(folder, run_id, expected).update_count == 2
        return
    with pytest.raises(NoGoodCheckpoint) as refused:
        read_checkpoint(folder, run_id, expected)
    assert reason in str(refused.value)


def test_nothing_good_is_an_error_that_says_why_and_changes_nothing(run):
    folder, run_id = run
    with pytest.raises(NoGoodCheckpoint, match="none was written yet") as refused:
        read_checkpoint(folder, run_id)
    assert refused.value.notes == []
    write(folder, 1, 2)
    for sidecar in folder.glob("checkpoints/*.json"):
        sidecar.write_bytes(b"")
    before = names(folder / "checkpoints")
    with pytest.raises(NoGoodCheckpoint, match=r"000000002 is not used.*; .*000000001") as refused:
        read_checkpoint(folder, run_id)
    assert len(refused.value.notes) == 2
    assert names(folder / "checkpoints") == before


def test_a_checkpoints_folder_that_is_a_file_is_no_good_checkpoint(run):
    folder, run_id = run
    (folder / "checkpoints").write_text("")
    with pytest.raises(NoGoodCheckpoint, match="Not a directory"):
        read_checkpoint(folder, run_id)
    with pytest.raises(DiskTrouble, match=r"can not be written: Not a directory"):
        write(folder, 1)
    assert newest_checkpoint(folder) is None


def test_no_checkpoint_is_promised_to_a_run_that_could_not_be_resumed(run):
    folder, _ = run
    (folder / "run.json").unlink()
    with pytest.raises(DiskTrouble, match="is not a run"):
        write(folder, 1)
    assert not (folder / "checkpoints").exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"update_count": -1}, "update_count = -1"),
        ({"update_count": 10**9}, "update_count = 1000000000"),
        ({"keep": 0}, "keep = 0"),
        ({"arrays": {"x": np.zeros(2, np.complex64)}}, "array 'x' of complex64"),
        ({"arrays": {"x": np.zeros(2, object)}}, "array 'x' of object"),
        ({"arrays": {"__metadata__": np.zeros(2)}}, "array '__metadata__'"),
        ({"arrays": {"\ud800": np.zeros(2)}}, "arrays can not be written"),
        ({"facts": {"x": np.float32(1)}}, "facts that JSON can not hold"),
        ({"facts": {"x": Path()}}, "facts that JSON can not hold"),
    ],
)
def test_what_can_not_come_back_is_refused_before_anything_is_written(run, change, problem):
    folder, _ = run
    given = {"update_count": 1, "arrays": {}, "facts": {}} | change
    with pytest.raises(BadInput, match=problem):
        write_checkpoint(folder, **given)
    assert not (folder / "checkpoints").exists()


def test_facts_that_are_not_finite_come_back(run):
    folder, run_id = run
    write_checkpoint(folder, 1, {}, {"best": -np.inf, "losses": [0.1, float("nan")]})
    found = read_checkpoint(folder, run_id).facts
    assert found["best"] == -np.inf and found["losses"][0] == 0.1 and np.isnan(found["losses"][1])


def test_the_newest_is_known_without_reading_it(run):
    folder, _ = run
    assert newest_checkpoint(folder) is None
    write(folder, 4, 9)
    assert newest_checkpoint(folder) == 9
