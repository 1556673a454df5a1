import os
from pathlib import Path

import pytest

from fmarl.errors import BadInput
from fmarl.records import atomic_files as durable
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.events import EventCode
from fmarl.records.jsonl import LineWriter, last_record, read_lines
from unit.records.faults import Faults, disk_full
from unit.records.processes import python
from unit.records.small_disk import small_disk

RECORDS = [{"update": 0, "nas": 0.1}, {"update": 1, "word": "ünï\n"}, {"update": 2, "nas": None}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with the three records."""
    path = tmp_path / "metrics.jsonl"
    with LineWriter(path) as writer:
        for record in RECORDS:
            writer.append(record)
    return path


def ends_of_lines(content: bytes) -> list[int]:
    return [0, *(i + 1 for i, byte in enumerate(content) if byte == ord("\n"))]


def test_records_come_back_in_their_order(path):
    assert read_lines(path).records == RECORDS
    assert read_lines(path).position == path.stat().st_size
    assert last_record(path) == RECORDS[-1]


def test_a_reader_goes_on_where_it_stopped(path):
    first = read_lines(path)
    with LineWriter(path) as writer:
        assert writer.position == first.position
        writer.append({"update": 3})
    assert read_lines(path, first.position).records == [{"update": 3}]


def test_a_file_torn_at_any_byte_has_its_whole_lines_and_goes_on_after_them(path):
    content = path.read_bytes()
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        end = max(end for end in ends_of_lines(content) if end <= length)
        whole = content[:end].count(b"\n")
        assert read_lines(path) == (RECORDS[:whole], end)
        assert last_record(path) == (RECORDS[whole - 1] if whole else {})
        with LineWriter(path) as writer:
            assert [note.code for note in writer.notes] == [EventCode.LINE_CUT] * (end < length)
            assert writer.position == end
            writer.append({"more": True})
        assert read_lines(path).records == [*RECORDS[:whole], {"more": True}]


def test_the_note_says_how_much_was_cut(path):
    path.write_bytes(path.read_bytes() + bytes(100_000))  # what a power cut may leave
    with LineWriter(path) as writer:
        (note,) = writer.notes
    assert note.detail == "metrics.jsonl ended in half a line; 100000 bytes were cut"
    assert read_lines(path).records == RECORDS


def test_lines_after_a_checkpoint_are_forgotten_and_only_they(path):
    content = path.read_bytes()
    for end in ends_of_lines(content):
        path.write_bytes(content)
        with LineWriter(path) as writer:
            writer.truncate_to(end)
            assert writer.position == end
            for record in RECORDS[content[:end].count(b"\n") :]:
                writer.append(record)
        assert path.read_bytes() == content


def test_a_position_that_is_no_end_of_a_line_is_refused_and_nothing_is_cut(path):
    content = path.read_bytes()
    allowed = ends_of_lines(content)
    with LineWriter(path) as writer:
        for position in {*range(-1, len(content) + 3)} - {*allowed}:
            with pytest.raises(BadInput, match=f"to go on at byte {position} is not allowed"):
                writer.truncate_to(position)
    assert path.read_bytes() == content


def test_a_line_that_the_disk_did_not_take_is_not_there_and_can_be_written_again(path, monkeypatch):
    content = path.read_bytes()
    with LineWriter(path) as writer:
        with monkeypatch.context() as patched:
            patched.setattr(durable, "os", Faults(0, disk_full))
            with pytest.raises(DiskTrouble, match="No space left on device"):
                writer.append({"update": 3})
        assert path.read_bytes() == content
        writer.append({"update": 3})
    assert read_lines(path).records == [*RECORDS, {"update": 3}]


def test_a_torn_line_that_could_not_be_cut_either_is_written_over(path, monkeypatch):
    class Stuck(Faults):
        def __getattr__(self, name):
            return disk_full_whatever if name == "ftruncate" else super().__getattr__(name)

    def disk_full_whatever(*_):
        disk_full()

    with LineWriter(path) as writer:
        with monkeypatch.context() as patched:
            patched.setattr(durable, "os", Stuck(0, disk_full))
            with pytest.raises(DiskTrouble):
                writer.append({"update": 3})
        assert read_lines(path).records == RECORDS
        writer.append({"update": 3})
    assert read_lines(path).records == [*RECORDS, {"update": 3}]


@pytest.mark.parametrize("call", ["sync", "truncate", "open"])
def test_whatever_else_the_disk_refuses_is_disk_trouble(path, monkeypatch, call):
    with LineWriter(path) as writer, monkeypatch.context() as patched:
        patched.setattr(durable, "os", Faults(0, disk_full))
        with pytest.raises(DiskTrouble, match=r"metrics\.jsonl can not be written: No space"):
            match call:
                case "sync":
                    writer.sync()
                case "truncate":
                    writer.truncate_to(0)
                case "open":
                    LineWriter(path)
    assert read_lines(path).records == RECORDS


def test_a_disk_that_is_really_full_has_only_whole_lines(tmp_path):
    with small_disk(tmp_path) as disk:
        path = disk / "events.jsonl"
        with LineWriter(path) as writer:
            written = 0
            with pytest.raises(DiskTrouble, match="No space left on device"):
                while True:
                    writer.append({"detail": "x" * 999})
                    written += 1
            writer.sync()
        assert path.stat().st_size == writer.position
        assert len(read_lines(path).records) == written > 100


def test_every_line_of_a_killed_process_is_there(tmp_path):
    script = """
import sys
from pathlib import Path
from fmarl.records.jsonl import LineWriter

writer = LineWriter(Path(sys.argv[1]))
for update in range(10**9):
    writer.append({"update": update})
    print(update, flush=True)
"""
    path = tmp_path / "metrics.jsonl"
    with python(script, str(path)) as process:
        assert process.stdout is not None
        while process.stdout.readline() != "500\n":
            assert process.poll() is None
        process.kill()
        said = process.stdout.read().split("\n")[:-1]
    records = read_lines(path).records
    assert records == [{"update": update} for update in range(len(records))]
    assert len(records) > (int(said[-1]) if said else 500)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1}\n{"a": \n{"a": 3}\n', "at byte 9, it is not JSON"),
        (b'{"a": 1}\n\n', "at byte 9, it is not JSON"),
        (b"[1]\n", "at byte 0, it is not a JSON object"),
        (b'{"a": 1}\r{"a": 2}\n', "at byte 0, it is not JSON"),
        (b'{"a": NaN}\n', "NaN is not a number"),
    ],
)
def test_a_whole_line_that_is_not_a_record_gets_one_line(tmp_path, content, reason):
    (tmp_path / "metrics.jsonl").write_bytes(content)
    with pytest.raises(BadInput, match=reason) as refused:
        read_lines(tmp_path / "metrics.jsonl")
    assert "\n" not in str(refused.value)


def test_a_missing_file_has_no_lines_and_a_folder_is_refused(tmp_path):
    assert read_lines(tmp_path / "none") == ([], 0)
    assert last_record(tmp_path / "none") == {}
    assert last_record(tmp_path) == {}
    with pytest.raises(BadInput, match="Is a directory"):
        read_lines(tmp_path)
    with pytest.raises(DiskTrouble, match="Is a directory"):
        LineWriter(tmp_path)


def test_the_last_line_of_a_file_of_a_terabyte_is_found_at_its_end(tmp_path):
    path = tmp_path / "metrics.jsonl"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)  # a hole: nothing is really there
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"update": 7, "filling": "' + b"x" * 200_000 + b'"}\n{"upd')
    assert last_record(path)["update"] == 7
