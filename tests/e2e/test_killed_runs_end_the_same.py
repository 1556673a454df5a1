"""F04 and F05: a run that is killed again and again ends with the bits of one that is not.

Every run is killed at each of the five points in turn, then allowed to finish. Only its folder is
left each time: processes, memory and scratch folders are gone.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.tac import TACConfig
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin, resume
from fmarl.federation.recipes import MethodConfig
from fmarl.records.jsonl import read_lines

SCRIPT = Path(__file__).with_name("killed_run.py")
# An epoch has two slots, so checkpoints fall on even slots.
TRAPS = [
    ("before-play", 1),
    ("in-play", 3),
    ("in-checkpoint", 4),
    ("after-learning", 5),
    ("after-checkpoint", 8),
]
WORLDS = {
    "figure-eight": ("epoch_steps=40",),
    "exact road": ("epoch_steps=40", "simulator=exact"),
    "merge": ("epoch_steps=40", "warm_up_steps=50"),
    "toy-bumpy": ("num_agents=3", "epoch_steps=40", "reward_noise=0.3"),
}
METHODS = {
    "ppo": MethodConfig(method="decay-consensus", sync_period=3, local_updates="1-3", graph="path"),
    "trpo": MethodConfig(method="delayed-adoption", delay_slots=2),
    "tac": MethodConfig(method="periodic", sync_period=3, local_updates="drawn:1-3"),
}


def _experiment(world: str, algorithm: str) -> Experiment:
    small = TACConfig(random_updates=2, batch_size=8, updates_per_slot=2, replay_capacity=100)
    return Experiment(
        world="figure-eight" if world == "exact road" else world,
        set=WORLDS[world],
        algorithm=algorithm,
        together=METHODS[algorithm],
        agent=AgentConfig(hidden=(8,)),
        tac=small if algorithm == "tac" else TACConfig(),
        num_epochs=5,
        steps_per_update=20,
        test_every=2,
        test_repetitions=1,
        seed=3,
    )


# One pair in every test run, all in the long one.
USUAL = ("figure-eight", "ppo")
PAIRS = [(world, word) for world in WORLDS for word in METHODS]


@pytest.mark.long
@pytest.mark.parametrize(("world", "algorithm"), PAIRS)
def test_killed_at_five_points_a_run_ends_with_the_same_bits(world, algorithm, tmp_path):
    if world == "exact road":
        pytest.importorskip("numba")
    experiment = _experiment(world, algorithm)
    whole = resume(begin(experiment, tmp_path / "whole"))

    folder = begin(experiment, tmp_path / "killed")
    for point, slot in TRAPS:
        words = [sys.executable, str(SCRIPT), str(folder), point, str(slot)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == -9, f"{point}: {done.stderr}"
    killed = resume(folder)

    assert killed.update_count == whole.update_count == 10
    assert killed.digest == whole.digest
    assert (folder / "metrics.jsonl").read_bytes() == (whole.folder / "metrics.jsonl").read_bytes()
    assert _files(folder, "frames") == _files(whole.folder, "frames")
    assert _files(folder, "samples") == _files(whole.folder, "samples")
    codes = [event["code"] for event in read_lines(folder / "events.jsonl").records]
    assert codes.count("LOCK_STALE") == 5
    assert codes.count("RESUMED") == 4  # before the first checkpoint there is nothing to resume


def _files(folder: Path, kind: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / kind).glob("*"))}
