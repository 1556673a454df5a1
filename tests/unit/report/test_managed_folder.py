"""Files are made again and again, and nothing of others is touched."""

from pathlib import Path

import pytest

from fmarl.errors import BadInput
from fmarl.records import atomic_files as durable
from fmarl.records.strict_json import seal
from fmarl.report.managed_folder import LIST, write_files
from unit.records.small_disk import fill, small_disk
from unit.report.small_runs import road, write_run


def _content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != LIST]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_what_was_written_is_replaced_and_what_is_no_more_is_taken_away(tmp_path):
    write_files(tmp_path / "a" / "b", {"page": b"1", "figures/old.png": b"2"})
    write_files(tmp_path / "a" / "b", {"page": b"3", "figures/new.png": b"4"})
    assert _content(tmp_path / "a" / "b") == {"page": b"3", "figures/new.png": b"4"}


@pytest.mark.parametrize("name", ["page", "figures/old.png", LIST])
def test_a_file_of_somebody_else_is_never_replaced(tmp_path, name):
    (tmp_path / "figures").mkdir()
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(BadInput, match=f"{name} is not allowed"):
        write_files(tmp_path, {"page": b"1", "figures/old.png": b"2"})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]
    assert (tmp_path / name).read_bytes() == b"mine"


def test_files_of_others_beside_ours_stay(tmp_path):
    write_files(tmp_path, {"page": b"1"})
    (tmp_path / "notes").write_bytes(b"mine")
    write_files(tmp_path, {"other": b"2"})
    assert _content(tmp_path) == {"notes": b"mine", "other": b"2"}


def test_a_list_can_not_name_files_outside(tmp_path):
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / LIST).write_bytes(seal({"files": [LIST, "../precious", 3]}))
    write_files(tmp_path / "report", {"page": b"1"})
    assert (tmp_path / "precious").read_bytes() == b"mine"


def test_what_was_half_written_is_known_again(tmp_path, monkeypatch):
    def stop(path: Path, content: bytes) -> None:
        if path.name == "second":
            raise KeyboardInterrupt
        durable.write_durably(path, content)

    with monkeypatch.context() as patch:
        patch.setattr("fmarl.report.managed_folder.write_durably", stop)
        with pytest.raises(KeyboardInterrupt):
            write_files(tmp_path, {"first": b"1", "second": b"2"})
    assert _content(tmp_path) == {"first": b"1"}
    write_files(tmp_path, {"first": b"3", "second": b"4"})
    assert _content(tmp_path) == {"first": b"3", "second": b"4"}


def test_a_run_is_no_place_for_a_report(tmp_path):
    write_run(tmp_path / "run", road())
    with pytest.raises(BadInput, match="a run, is not allowed"):
        write_files(tmp_path / "run", {"page": b"1"})


def test_a_folder_that_can_not_be_made_gets_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="can not be written to: Not a directory"):
        write_files(tmp_path / "file" / "report", {"page": b"1"})


def test_a_full_disk_gets_one_line(tmp_path):
    with small_disk(tmp_path) as disk:
        fill(disk)
        with pytest.raises(BadInput, match="No space left"):
            write_files(disk / "report", {"page": b"1" * 100_000})
