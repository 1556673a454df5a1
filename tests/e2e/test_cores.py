"""Runs one after another on a core: one process trains them, and none feels it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fmarl.engine.run import begin, resume, train
from fmarl.launch import on_this_machine
from fmarl.launch.on_this_machine import LocalLauncher
from fmarl.launch.run_worker import RunWorker
from unit.engine.small_experiments import toy


@pytest.fixture
def workers(monkeypatch) -> list[subprocess.Popen[bytes]]:
    """All that are started."""
    found: list[subprocess.Popen[bytes]] = []

    def start(core: int) -> RunWorker:
        worker = RunWorker(core)
        found.append(worker.process)
        return worker

    monkeypatch.setattr(on_this_machine, "RunWorker", start)
    return found


def ended(run: RunWorker) -> int:
    while (code := run.poll()) is None:
        time.sleep(0.05)
    return code


@pytest.mark.long
def test_runs_share_a_process_and_end_with_the_bits_they_have_alone(tmp_path: Path, workers):
    experiments = [toy(), toy(seed=1), toy(algorithm="tac"), toy(seed=1, num_epochs=3)]
    with LocalLauncher(jobs=1) as launcher:
        for number, experiment in enumerate(experiments):
            assert launcher.has_room
            run = launcher.start(begin(experiment, tmp_path / str(number)))
            assert not launcher.has_room
            assert ended(run) == 0
    assert [one.returncode for one in workers] == [0]
    for number, experiment in enumerate(experiments):
        alone = train(experiment, tmp_path / f"alone-{number}")
        again = resume(tmp_path / str(number))
        assert again.finished
        assert again.digest == alone.digest


def test_after_a_run_that_ends_badly_the_next_has_a_process_of_its_own(tmp_path: Path, workers):
    with LocalLauncher(jobs=1) as launcher:
        assert ended(launcher.start(tmp_path / "nothing")) == 2
        run = launcher.start(begin(toy(num_epochs=10_000), tmp_path / "killed"))
        workers[-1].kill()
        assert ended(run) == -signal.SIGKILL
        assert ended(launcher.start(begin(toy(), tmp_path / "well"))) == 0
    assert [one.returncode for one in workers] == [2, -signal.SIGKILL, 0]


def test_a_worker_that_is_killed_while_it_waits_is_an_exit_code(tmp_path: Path, workers):
    with LocalLauncher(jobs=1) as launcher:
        assert ended(launcher.start(begin(toy(), tmp_path / "first"))) == 0
        workers[-1].kill()
        workers[-1].wait()
        assert ended(launcher.start(begin(toy(), tmp_path / "second"))) == -signal.SIGKILL
        assert ended(launcher.start(tmp_path / "second")) == 0


def test_workers_do_not_outlive_their_parent(tmp_path: Path):
    folder = begin(toy(), tmp_path / "run")
    words = (
        "import sys, time; from pathlib import Path\n"
        "from fmarl.launch.on_this_machine import LocalLauncher\n"
        "launcher = LocalLauncher(jobs=1); run = launcher.start(Path(sys.argv[1]))\n"
        "while run.poll() is None: time.sleep(0.05)\n"
        "print(run.process.pid, flush=True); time.sleep(600)"
    )
    user = subprocess.Popen([sys.executable, "-c", words, folder], stdout=subprocess.PIPE)
    with user:
        assert user.stdout is not None
        pid = int(user.stdout.readline())
        os.kill(pid, 0)
        user.kill()
    deadline = time.monotonic() + 60
    while _is_running(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    """Whether it is a process that has not ended; nobody may have asked for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
