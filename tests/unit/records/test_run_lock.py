import errno
import fcntl
import os
import re
import signal
import socket
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fmarl.errors import BadInput
from fmarl.records import lock
from fmarl.records.events import EventCode
from fmarl.records.lock import RunHeld, hold, holder, is_held
from unit.records.processes import python
from unit.records.small_disk import fill, small_disk

HOLD = """
import sys
from pathlib import Path
from fmarl.records.lock import hold

with hold(Path(sys.argv[1])) as notes:
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_holder(folder: Path):
    """A process that holds the run until it is killed, or the body ends."""
    with python(HOLD, str(folder)) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.stdin.close()


def test_a_second_process_is_told_who_holds_the_run(tmp_path: Path):
    with another_holder(tmp_path) as process:
        who = f"pid {process.pid} on host {socket.gethostname()} since "
        with pytest.raises(RunHeld, match=re.escape(f"{tmp_path} is locked by {who}")) as refused:
            hold(tmp_path).__enter__()
        assert "\n" not in str(refused.value)
        assert holder(tmp_path).startswith(who)
    with hold(tmp_path) as notes:
        assert notes == []


def test_the_same_process_can_not_hold_a_run_twice(tmp_path: Path):
    with hold(tmp_path), pytest.raises(RunHeld, match=f"pid {os.getpid()} "), hold(tmp_path):
        pass


def test_a_run_that_was_let_go_shows_no_trace(tmp_path: Path):
    with hold(tmp_path):
        assert os.listdir(tmp_path) == ["LOCK"]
    assert os.listdir(tmp_path) == []
    assert holder(tmp_path) == ""


def test_a_run_is_let_go_when_it_fails(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), hold(tmp_path):
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_the_lock_of_a_killed_process_is_taken_over_with_a_note(tmp_path: Path):
    with another_holder(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
        assert holder(tmp_path).startswith(f"pid {process.pid} ")
        with hold(tmp_path) as (note,):
            assert note.code == EventCode.LOCK_STALE
            assert note.detail.startswith(f"taken over from pid {process.pid} on host ")
            assert holder(tmp_path).startswith(f"pid {os.getpid()} ")


def test_a_process_that_the_holder_started_does_not_keep_the_lock(tmp_path: Path):
    script = HOLD.replace(
        "    print(", "    print(subprocess.Popen(['cat']).pid, flush=True)\n    print("
    )
    with python("import subprocess\n" + script, str(tmp_path)) as process:
        assert process.stdout is not None and process.stdin is not None
        child = int(process.stdout.readline())
        assert process.stdout.readline() == "held\n"
        process.kill()
        process.wait(timeout=30)
        os.kill(child, 0)  # it lives on, or this would raise
        with hold(tmp_path) as notes:
            assert len(notes) == 1
        process.stdin.close()  # which ends the child


COUNT = """
import sys
from contextlib import suppress
from pathlib import Path
from fmarl.records.lock import RunHeld, hold

folder, done = Path(sys.argv[1]), 0
while done < 300:
    with suppress(RunHeld), hold(folder):
        counter = folder / "counter"
        counter.write_text(str(int(counter.read_text()) + 1))
        done += 1
"""


def test_processes_that_hold_in_turn_never_do_so_together(tmp_path: Path):
    (tmp_path / "counter").write_text("0")
    with python(COUNT, str(tmp_path)) as one, python(COUNT, str(tmp_path)) as other:
        assert one.wait(timeout=60) == other.wait(timeout=60) == 0
    assert (tmp_path / "counter").read_text() == "600"


@pytest.mark.parametrize("content", [b"\xff\xfe", b"two\nlines\n", b"x\x1b[31m"])
def test_a_lock_with_nonsense_in_it_is_taken_over(tmp_path: Path, content):
    (tmp_path / "LOCK").write_bytes(content)
    assert holder(tmp_path) == "an unknown process"
    with hold(tmp_path) as (note,):
        assert note.detail == "taken over from an unknown process, which is gone"


def test_where_nothing_can_be_locked_one_line_says_so(tmp_path: Path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / "LOCK").mkdir(parents=True)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "LOCK").symlink_to(tmp_path / "file")
    for folder in (tmp_path / "none", tmp_path / "file", tmp_path / "folder", tmp_path / "link"):
        with pytest.raises(BadInput, match=r"LOCK can not be locked: .*\. Check the folder\.$"):
            hold(folder).__enter__()
    assert (tmp_path / "file").read_text() == ""


def test_a_lock_on_a_full_disk_is_refused_and_not_left_behind(tmp_path: Path):
    with small_disk(tmp_path) as disk:
        (disk / "run").mkdir()
        fill(disk)
        with pytest.raises(BadInput, match="can not be locked: No space left on device"):
            hold(disk / "run").__enter__()
        assert os.listdir(disk / "run") == []


def test_a_lock_that_its_holder_deletes_while_another_opens_it_is_not_held_by_mistake(
    tmp_path: Path, monkeypatch
):
    leaving = ExitStack()
    leaving.enter_context(hold(tmp_path))

    def open_as_the_holder_leaves(path):
        descriptor = real_open(path)
        leaving.close()
        return descriptor

    real_open = lock._open
    monkeypatch.setattr(lock, "_open", open_as_the_holder_leaves)
    with hold(tmp_path) as notes:
        assert notes == []
        with pytest.raises(RunHeld), hold(tmp_path):
            pass


def test_a_holder_whose_lock_was_deleted_leaves_that_of_the_next_one_alone(tmp_path: Path):
    first = ExitStack()
    first.enter_context(hold(tmp_path))
    (tmp_path / "LOCK").unlink()
    with hold(tmp_path):
        first.close()
        assert os.listdir(tmp_path) == ["LOCK"]


def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(BadInput, match="can not be locked: No locks available"), hold(tmp_path):
        pass


def test_a_run_is_held_only_while_its_holder_lives(tmp_path):
    assert not is_held(tmp_path)
    with hold(tmp_path):
        assert is_held(tmp_path)
    assert not is_held(tmp_path)
    (tmp_path / "LOCK").write_text("pid 1 on host gone")  # what a kill leaves behind
    assert not is_held(tmp_path)
