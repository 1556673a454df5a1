"""Real runs to look at, short but whole, and what their records say, read without the page."""

import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmarl.engine.experiment import Experiment
from fmarl.engine.run import train
from fmarl.federation.recipes import MethodConfig
from fmarl.records.frames import read_frames
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.strict_json import seal
from unit.engine.small_experiments import TOY, toy

CONSENSUS = MethodConfig(method="consensus", graph="paper-13", sync_period=6)
DECAY = MethodConfig(method="decay", local_updates="1-15")
DRAWN = MethodConfig(sync_period=3, local_updates="drawn:1-3", learning_rate=1e-2)
SPEED_LIMIT = 20.0
TESTED = [0, 2, 4, 6]
"""Epochs of the runs on the Figure Eight that can be replayed."""


MANY: dict[str, dict[str, Any]] = {
    "first": {},
    "twice": {},
    **{f"seeds/seed-{seed}": {"seed": seed} for seed in (1, 2, 3)},
    "short": {"steps_per_update": 10},
    "options": {"set": [option.replace("epoch_steps=40", "epoch_steps=20") for option in TOY]},
    "elsewhere": {"world": "toy-quadratic"},
    "elsewhere-with-a-name-that-is-longer-than-the-list-is-wide": {"world": "toy-quadratic"},
}
"""Runs by folder, and how their settings differ from those of the toy."""
NUM_EVENTS = 80


def on_figure_eight(together: MethodConfig, **changes: Any) -> Experiment:
    """Six epochs of 30 seconds on the Figure Eight, unless changed."""
    settings: dict[str, Any] = {
        "set": ("epoch_steps=300",),
        "together": together,
        "num_epochs": 6,
        "steps_per_update": 50,
        "test_every": 2,
        "test_repetitions": 1,
        "sample_slots": 0,
    }
    return Experiment(**(settings | changes))


def merge() -> Experiment:
    """Two epochs of 100 steps on the Merge."""
    short = ("epoch_steps=100", "warm_up_steps=400")
    together = MethodConfig(method="periodic")
    return on_figure_eight(together, world="merge", set=short, num_epochs=2, test_every=1)


def record_all(place: Path) -> None:
    """All runs that tests only look at: three of one world, and two of others."""
    train(on_figure_eight(CONSENSUS), place / "eight" / "consensus" / "seed-0")
    train(on_figure_eight(CONSENSUS, seed=1), place / "eight" / "consensus" / "seed-1")
    train(on_figure_eight(DECAY), place / "eight" / "decay")
    train(merge(), place / "others" / "merge")
    train(toy(together=DRAWN), place / "others" / "toy")
    make_many(place / "others" / "toy", place / "many")


def make_many(toy_run: Path, place: Path) -> None:
    """Nine runs by three settings, one of which is in two folders; the first has many events."""
    for name, changes in MANY.items():
        another_run(toy_run, place / name, **changes)
    shutil.copytree(place / "first", place / "first-copy")
    (place / "first" / "events.jsonl").write_text("".join(map(_event_line, range(NUM_EVENTS))))


def _event_line(number: int) -> str:
    """One of many events, a minute after the one before."""
    time = f"2026-01-01T{10 + number // 60}:{number % 60:02}:00.000+00:00"
    detail = f"number {number}, and what a process says at length when it is gone: signal 9"
    return json.dumps({"time": time, "code": "WORLD_CRASHED", "detail": detail}) + "\n"


def another_run(source: Path, target: Path, **changes: Any) -> Path:
    """A run of its own that has recorded what another one did; settings may differ."""
    shutil.copytree(source, target)
    description = read_run(source)
    experiment = {**description["experiment"], **changes}
    facts = {**description, "run_id": uuid.uuid4().hex, "experiment": experiment}
    RunFolder(target).description.write_bytes(seal(facts))
    return target


@contextmanager
def shared_folder(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """A folder that all workers of a test run share, held until its first user has filled it."""
    root = factory.getbasetemp()
    shared = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield shared / name


def lines_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of metrics of a kind."""
    lines = read_lines(RunFolder(folder).metrics).records
    return [line for line in lines if line["kind"] == kind]


def counts_in(folder: Path, epoch: int, name: str) -> int:
    """How much of something was counted in one epoch of a run."""
    totals = {0: 0} | {line["epoch"]: line[name] for line in lines_of(folder, "epoch")}
    return totals[epoch] - totals[epoch - 1]


def mean_gradient_norm(folder: Path) -> float:
    """The mean of what was measured of ‖g‖², every epoch counting once."""
    norms = [line["gradient_norm"] for line in lines_of(folder, "epoch")]
    return float(np.mean(np.square(norms)))


def frames_of(folder: Path, epoch: int) -> np.ndarray:
    """Where everything was, by step, thing and (x, y, speed)."""
    return read_frames(RunFolder(folder).frames / f"{epoch:06}.npz").astype(float)


def normalised_speed(frame: np.ndarray) -> float:
    """Mean speed of everything that is there, as a share of the limit."""
    return float(np.nanmean(frame[:, 2])) / SPEED_LIMIT
