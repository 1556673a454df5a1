"""Sweeps on real Ray as a user starts them, and what to look for around them."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from e2e.fmarl_command import fmarl_command
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import Run, begin, resume
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder
from unit.engine.small_experiments import toy

MARK = "FMARL_TEST_MARK"
MOST_SECONDS = 600.0
"""What has not happened by then never will, however busy the machine is."""


def experiment(seed: int, num_epochs: int = 20) -> Experiment:
    """A run that has something to say at its start and a few times more."""
    return toy(seed=seed, num_epochs=num_epochs, test_every=num_epochs // 4)


def alone(folder: Path, seed: int, num_epochs: int = 20) -> Run:
    """The same run, trained in this process and not disturbed."""
    return resume(begin(experiment(seed, num_epochs), folder))


def start(*words: str, mark: str, **environment: str) -> subprocess.Popen[str]:
    """Fmarl as a process whose descendants can all be found, in a group of its own."""
    return subprocess.Popen(
        fmarl_command(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, MARK: mark, **environment},
    )


def read_lines_of(process: subprocess.Popen[str], *names: str) -> None:
    """Wait until these runs have each shown a line, in this order; others may come between."""
    assert process.stdout is not None
    for name in names:
        while not (line := process.stdout.readline()).startswith(f"{name}  epoch "):
            assert line, f"no more lines of {name}"


def marked(mark: str, word: str = "") -> list[int]:
    """Processes, of whatever parent, that carry the mark and have a word in their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = f"{MARK}={mark}".encode() in (place / "environ").read_bytes().split(b"\0")
            if is_ours and word.encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Look until something holds; the tests know nothing of how long it takes."""
    deadline = time.monotonic() + MOST_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.05)


def kill(numbers: list[int]) -> None:
    """End processes as a power cut would."""
    for number in numbers:
        os.kill(number, signal.SIGKILL)


def codes(folder: Path) -> list[str]:
    """What has happened to a run."""
    return [event["code"] for event in read_lines(RunFolder(folder).events).records]


def assert_same_run(folder: Path, whole: Run) -> None:
    """Parameters, metrics and samples, byte for byte; a run that has not ended is resumed here."""
    assert resume(folder).digest == whole.digest
    found, wanted = RunFolder(folder), RunFolder(whole.folder)
    assert found.metrics.read_bytes() == wanted.metrics.read_bytes()
    kept = {path.name: path.read_bytes() for path in wanted.samples.iterdir()}
    assert {path.name: path.read_bytes() for path in found.samples.iterdir()} == kept
