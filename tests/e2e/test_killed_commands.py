"""Kill any process of a training command: nothing is left running, and nothing is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fmarl.child_process import ChildProcess
from fmarl.engine.run import resume, train
from fmarl.records.jsonl import read_lines
from unit.engine.small_experiments import toy

MARK = "FMARL_TEST_MARK"
TOY = {
    "--set": ("num_agents=3", "epoch_steps=40", "reward_noise=0.2", "targets=0.6"),
    "--hidden": ("8",),
    "--sync-period": ("3",),
    "--learning-rate": ("1e-2",),
    "--steps-per-update": ("20",),
    "--test-repetitions": ("2",),
    "--sample-slots": ("2",),
}
"""The settings of `toy`, as flags."""
FLAGS = ["toy-bumpy", "--quiet", *(word for flag in TOY.items() for word in (flag[0], *flag[1]))]


@contextmanager
def sweep(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """`fmarl train` on two seeds; whatever the test finds, nothing of it stays."""
    mark = str(folder)
    command = [sys.executable, "-m", "fmarl", "train", *FLAGS, "--seeds", "2", "--out", mark]
    with subprocess.Popen([*command, *words], env={**os.environ, MARK: mark}) as process:
        try:
            yield process
        finally:
            for pid in processes_of(folder):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def processes_of(folder: Path) -> list[int]:
    """All living processes that were started by the sweep, wherever they are now attached."""
    wanted, found = f"{MARK}={folder}".encode(), []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended while we looked, or belongs to another user
            if wanted in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
    return found


def wait_until(holds, seconds: float = 60.0) -> None:
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < seconds, "waited in vain"
        time.sleep(0.05)


def trains(folder: Path) -> bool:
    """Whether both runs have learned something."""
    runs = [folder / "seed-0", folder / "seed-1"]
    return all(len(read_lines(run / "metrics.jsonl").records) > 4 for run in runs)


def words_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def test_killing_a_sweep_leaves_nothing_and_its_processes_have_names(tmp_path):
    folder = tmp_path / "sweep"
    with sweep(folder, "--num-epochs", "100000") as command:
        wait_until(lambda: trains(folder))
        # The command; for each seed the process that trains, its world and that of its tests.
        found = {pid: words_of(pid) for pid in processes_of(folder)}
        assert len(found) == 7
        for seed in (0, 1):
            for place in ("world-0", "test-0"):
                name = f"{folder}/seed-{seed}/{place}"
                assert any(name in words for words in found.values()), found
        learners = [pid for pid, words in found.items() if "run_worker" in words]
        comms = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in learners}
        assert comms == {"seed-0", "seed-1"}
        command.kill()
        wait_until(lambda: not processes_of(folder), 10.0)


@pytest.mark.long
def test_ten_kills_of_any_process_leave_nothing_running_and_lose_nothing(tmp_path):
    """Whichever process of a sweep dies, all end or go on, and `resume` ends with the same bits."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 — to repeat what was found
    chance = random.Random(seed)
    whole = [
        train(toy(seed=one, num_epochs=40, test_every=10), tmp_path / f"{one}") for one in (0, 1)
    ]
    folder = tmp_path / "sweep"
    with sweep(folder, "--num-epochs", "40"):
        _kill_one(chance, folder)
    for _ in range(9):
        runs = [str(run.parent) for run in folder.glob("*/run.json")]
        if not runs:  # killed before anything was made
            break
        command = [sys.executable, "-m", "fmarl", "resume", *runs, "--quiet"]
        with subprocess.Popen(command, env={**os.environ, MARK: str(folder)}):
            _kill_one(chance, folder)
    for run in whole:
        mine = folder / f"seed-{run.experiment.seed}"
        if (mine / "run.json").exists():
            assert resume(mine).digest == run.digest
            assert (mine / "metrics.jsonl").read_bytes() == (
                run.folder / "metrics.jsonl"
            ).read_bytes()


def _kill_one(chance: random.Random, folder: Path) -> None:
    """Kill any process of a command at some moment, then wait for the end of the others."""
    time.sleep(chance.uniform(0.5, 8.0))
    alive = processes_of(folder)
    if alive:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(sorted(alive)), signal.SIGKILL)
    wait_until(lambda: not processes_of(folder), 120.0)


def test_a_trainer_whose_reader_is_gone_ends_without_a_complaint(tmp_path):
    run = train(toy(), tmp_path / "run")
    with (tmp_path / "stderr").open("wb") as stderr:
        pipe = subprocess.PIPE
        child = ChildProcess("fmarl.launch.run_worker", "0", stdin=pipe, stdout=pipe, stderr=stderr)
        assert child.process.stdin is not None and child.process.stdout is not None
        child.process.stdout.close()
        child.process.stdin.write(f'{{"folder": "{run.folder}", "force": false}}\n'.encode())
        child.process.stdin.flush()
        assert child.process.wait(60) == 0
        child.process.stdin.close()
        child.kill()
    assert (tmp_path / "stderr").read_bytes() == b""
