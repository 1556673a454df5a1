import errno
import os
from pathlib import Path

import pytest

from fmarl.records import atomic_files as durable
from fmarl.records.atomic_files import DiskTrouble, make_folder, read_whole, write_durably
from unit.records.faults import Faults, disk_full, each_in_turn


def test_a_file_is_the_old_one_or_the_new_one_whichever_call_fails(tmp_path: Path, monkeypatch):
    path = tmp_path / "file"
    struck = []
    for faults in each_in_turn(disk_full):
        path.write_bytes(b"old")
        with monkeypatch.context() as patched:
            patched.setattr(durable, "os", faults)
            try:
                write_durably(path, b"new content")
            except DiskTrouble as trouble:
                assert str(trouble) == f"{path} can not be written: No space left on device"
        struck.append(faults.struck)
        renamed = "replace" in struck[:-1]
        assert path.read_bytes() == (b"new content" if renamed else b"old")
        assert os.listdir(tmp_path) == ["file"]
    assert struck == ["open", "pwrite", "fsync", "close", "replace", "open", "fsync", "close", ""]


def test_a_disk_may_take_a_write_in_parts(tmp_path: Path, monkeypatch):
    class Slow(Faults):
        def __getattr__(self, name):
            real = super().__getattr__(name)
            if name != "pwrite":
                return real
            return lambda place, content, at: real(place, content[:3], at)

    monkeypatch.setattr(durable, "os", Slow(10**6, disk_full))
    write_durably(tmp_path / "file", b"in several parts")
    assert (tmp_path / "file").read_bytes() == b"in several parts"


@pytest.mark.parametrize(("number", "is_fatal"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_only_a_file_system_that_can_not_sync_folders_need_not(
    tmp_path: Path, monkeypatch, number, is_fatal
):
    def refuse():
        raise OSError(number, os.strerror(number))

    before_the_folder = ["open", "pwrite", "fsync", "close", "replace", "open"]
    monkeypatch.setattr(durable, "os", Faults(len(before_the_folder), refuse))
    if is_fatal:
        with pytest.raises(DiskTrouble, match="Input/output error"):
            write_durably(tmp_path / "file", b"content")
    else:
        write_durably(tmp_path / "file", b"content")
    assert (tmp_path / "file").read_bytes() == b"content"


def test_a_temporary_file_left_behind_is_no_obstacle(tmp_path: Path):
    (tmp_path / "file.tmp").write_bytes(b"left by a process that was killed, and rather long")
    write_durably(tmp_path / "file", b"content")
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"content"


def test_a_folder_is_made_once_and_only_where_one_can_be(tmp_path: Path):
    make_folder(tmp_path / "folder")
    make_folder(tmp_path / "folder")
    assert (tmp_path / "folder").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskTrouble, match="Not a directory"):
        make_folder(tmp_path / "file" / "folder")


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")
    assert read_whole(tmp_path / "file", 5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes, more than 4"):
        read_whole(tmp_path / "file", 4)
    for odd in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="it is not a regular file"):
            read_whole(odd, 5)


def test_a_reason_is_in_words_where_the_system_has_some():
    assert durable.reason(OSError(errno.EIO, "Input/output error")) == "Input/output error"
    assert durable.reason(OSError("odd")) == "odd"
