"""Real SUMO in real workers: killed, stopped and missing; the batches never show it."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.rollout.policy import Policy
from fmarl.rollout.policy_check import random_parameters
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.restarts import RestartPolicy
from python_path import python_path

FACTORY = "fmarl.worlds.registry:make_world"
ROADS = {
    "figure-eight": WorldMaker("figure-eight", {"epoch_steps": 600}, FACTORY),
    "merge": WorldMaker("merge", {"epoch_steps": 300, "warm_up_steps": 400}, FACTORY),
}


def play(rollout: WorldPool, slots: int, disturb=lambda rollout: None) -> list[str]:
    """Digests of some slots; before each, something may be set off that happens in mid-slot."""
    policy = Policy("sampled", random_parameters(rollout.specs[0]))
    digests = []
    for _ in range(slots):
        trouble = disturb(rollout)
        digests += [batch.digest() for batch in rollout.play(policy, 250)]
        if trouble is not None:
            trouble.join()  # it may come after the slot, but not after the worker has gone
    return digests


def kill_soon(seconds: float, what: int):
    """Send a signal to the first worker in a moment, from another thread."""

    def disturb(rollout: WorldPool) -> threading.Timer | None:
        pid = rollout.pids[0]
        if pid is None:
            return None
        timer = threading.Timer(seconds, _send, (pid, what))
        timer.start()
        return timer

    return disturb


def _send(pid: int, what: int) -> None:
    with suppress(ProcessLookupError):  # a kill that came late in the last slot was noticed first
        os.kill(pid, what)


@pytest.mark.long
@pytest.mark.parametrize("road", ["figure-eight", "merge"])
def test_killing_sumo_at_twenty_random_moments_changes_nothing(road):
    random = np.random.default_rng(20)
    with WorldPool([ROADS[road]], run_seed=7) as calm:
        expected = play(calm, 20)
    with WorldPool([ROADS[road]], run_seed=7) as troubled:
        found = play(
            troubled,
            20,
            lambda rollout: kill_soon(float(random.uniform(0, 0.02)), signal.SIGKILL)(rollout),
        )
        codes = [event.code for event in troubled.events]
    assert found == expected
    assert codes.count("WORLD_CRASHED") >= 15  # a few may come before the slot has begun
    assert codes.count("WORLD_RESTORED") == codes.count("WORLD_CRASHED")


def test_a_stopped_simulation_is_noticed_and_replaced():
    restarts = RestartPolicy(timeout_seconds=3.0)
    with WorldPool([ROADS["figure-eight"]], run_seed=1) as calm:
        expected = play(calm, 3)
    with WorldPool([ROADS["figure-eight"]], run_seed=1, restarts=restarts) as troubled:
        found = play(troubled, 1)
        found += play(troubled, 1, kill_soon(0.004, signal.SIGSTOP))
        found += play(troubled, 1)
        assert [event.code for event in troubled.events][:1] == ["WORLD_HUNG"]
    assert found == expected


def test_a_checkpoint_brings_a_road_back_to_the_same_bits_in_a_new_run():
    with WorldPool([ROADS["merge"]], run_seed=3) as first:
        play(first, 2)
        slot, snapshots = first.slot, first.snapshots
        expected = play(first, 2)
    with WorldPool([ROADS["merge"]], run_seed=3) as second:
        second.restore(snapshots, slot)
        assert play(second, 2) == expected


def test_two_roads_at_once_give_what_each_gives_alone():
    makers = [ROADS["figure-eight"], ROADS["figure-eight"]]
    with WorldPool(makers, run_seed=5) as both:
        together = play(both, 3)
    assert together[0] != together[1]  # each world has its own seeds
    with WorldPool(makers, run_seed=5) as again:
        assert play(again, 3) == together


def test_workers_never_load_jax():
    with WorldPool([ROADS["figure-eight"]], run_seed=0) as rollout:
        libraries = Path(f"/proc/{rollout.pids[0]}/maps").read_text()
    assert "/libsumo/" in libraries
    assert not any(f"/{name}/" in libraries for name in ("jaxlib", "matplotlib"))


def test_a_missing_sumo_is_told_in_one_line(tmp_path: Path):
    (tmp_path / "libsumo.py").write_text("raise ImportError('libGL.so.1: cannot open')")
    restarts = RestartPolicy(environment={"PYTHONPATH": python_path(tmp_path)})
    with pytest.raises(BadInput, match=r"libGL.*pip install libsumo==1\.28\.0"):
        WorldPool([ROADS["figure-eight"]], run_seed=0, restarts=restarts)


def test_no_simulation_outlives_its_run():
    with WorldPool([ROADS["figure-eight"]], run_seed=0) as rollout:
        pid = rollout.pids[0]
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()
