"""Runs one after another on a core: one process trains them, and none feels it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fmarl.engine.train import begin, resume, train
from fmarl.launch import on_this_machine as cores
from fmarl.launch.on_this_machine import Cores, OnCore, Trainer, start_trainer
from unit.engine.small_experiments import toy


@pytest.fixture
def trainers(monkeypatch) -> list[Trainer]:
    """All that are started."""
    found: list[Trainer] = []

    def start(core: int) -> Trainer:
        found.append(start_trainer(core))
        return found[-1]

    monkeypatch.setattr(cores, "start_trainer", start)
    return found


def ended(run: OnCore) -> int:
    while (code := run.poll()) is None:
        time.sleep(0.05)
    return code


def test_runs_share_a_process_and_end_with_the_bits_they_have_alone(tmp_path: Path, trainers):
    experiments = [toy(), toy(seed=1), toy(algorithm="tac"), toy(seed=1, num_epochs=3)]
    with Cores(jobs=1) as room:
        for number, experiment in enumerate(experiments):
            assert room.has_room
            run = room.start(begin(experiment, tmp_path / str(number)))
            assert not room.has_room
            assert ended(run) == 0
    assert [one.returncode for one in trainers] == [0]
    for number, experiment in enumerate(experiments):
        alone = train(experiment, tmp_path / f"alone-{number}")
        again = resume(tmp_path / str(number))
        assert again.finished
        assert again.digest == alone.digest


def test_after_a_run_that_ends_badly_the_next_has_a_process_of_its_own(tmp_path: Path, trainers):
    with Cores(jobs=1) as room:
        assert ended(room.start(tmp_path / "nothing")) == 2
        run = room.start(begin(toy(num_epochs=10_000), tmp_path / "killed"))
        trainers[-1].kill()
        assert ended(run) == -signal.SIGKILL
        assert ended(room.start(begin(toy(), tmp_path / "well"))) == 0
    assert [one.returncode for one in trainers] == [2, -signal.SIGKILL, 0]


def test_a_trainer_that_is_killed_while_it_waits_is_an_exit_code(tmp_path: Path, trainers):
    with Cores(jobs=1) as room:
        assert ended(room.start(begin(toy(), tmp_path / "first"))) == 0
        trainers[-1].kill()
        trainers[-1].wait()
        assert ended(room.start(begin(toy(), tmp_path / "second"))) == -signal.SIGKILL
        assert ended(room.start(tmp_path / "second")) == 0


def test_trainers_do_not_outlive_who_they_work_for(tmp_path: Path):
    folder = begin(toy(), tmp_path / "run")
    words = (
        "import sys, time; from pathlib import Path\n"
        "from fmarl.launch.on_this_machine import Cores\n"
        "room = Cores(jobs=1); run = room.start(Path(sys.argv[1]))\n"
        "while run.poll() is None: time.sleep(0.05)\n"
        "print(*(one.pid for one in room._trainers.values()), flush=True); time.sleep(600)"
    )
    user = subprocess.Popen([sys.executable, "-c", words, folder], stdout=subprocess.PIPE)
    with user:
        assert user.stdout is not None
        pid = int(user.stdout.readline())
        os.kill(pid, 0)
        user.kill()
    deadline = time.monotonic() + 60
    while _lives(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    """Whether it is a process that has not ended; nobody may have asked for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
