"""The exact road beside real SUMO, in one process: the same seeds, the same actions, the same bits.

Bit for bit on x86-64, where SUMO's build and ours both round after every operation and take powers
from the same libm. `fmarl world figure-eight --certificate` is the large version of this.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from fmarl.worlds.sumo import figure_eight
from fmarl.worlds.sumo.figure_eight import FigureEightWorld
from fmarl.worlds.traffic.world import ExactFigureEight

pytest.importorskip("numba")

Policy = Callable[[np.random.Generator, int, np.ndarray], np.ndarray]


class Pair(NamedTuple):
    """What both worlds said in an epoch."""

    steps: int
    speeds_equal: bool
    shown_equal: bool
    ends: tuple[bool, bool]
    """Whether the epoch was terminated, on SUMO and on the exact road."""
    frames_apart: float


def full(random: np.random.Generator, time: int, last: np.ndarray) -> np.ndarray:
    return np.ones_like(last)


def at_random(random: np.random.Generator, time: int, last: np.ndarray) -> np.ndarray:
    return random.uniform(-1, 1, last.shape).astype(np.float32)


def held(random: np.random.Generator, time: int, last: np.ndarray) -> np.ndarray:
    return at_random(random, time, last) if time % 20 == 0 else last


def side_by_side(policy: Policy, seed: int, steps: int, **options: Any) -> Pair:
    sumo = figure_eight.make(**options)
    exact = figure_eight.make(simulator="exact", **options)
    assert isinstance(sumo, FigureEightWorld)
    assert isinstance(exact, ExactFigureEight)
    with sumo, exact:
        shown_equal = np.array_equal(sumo.reset(seed), exact.reset(seed))
        random, speeds_equal = np.random.default_rng(seed), True
        action = np.ones((sumo.spec.num_agents, 1), np.float32)
        time = 0
        while True:
            action = policy(random, time, action)
            time += 1
            theirs, ours = sumo.step(action), exact.step(action)
            speeds_equal &= np.array_equal(sumo._speeds, exact._scene.road.vehicles.speed)
            shown_equal &= np.array_equal(theirs.observation, ours.observation)
            shown_equal &= np.array_equal(theirs.reward, ours.reward)
            if theirs.over or ours.over or time == steps:
                break
        frames = np.abs(sumo.frame() - exact.frame()).max()
    ends = bool(theirs.terminated.all()), bool(ours.terminated.all())
    return Pair(time, speeds_equal, shown_equal, ends, float(frames))


@pytest.mark.parametrize("policy", [full, at_random, held])
@pytest.mark.parametrize("preset", ["zju", "flow"])
def test_an_epoch_has_the_bits_of_sumo(preset, policy):
    assert side_by_side(policy, 11, 1500, preset=preset)[:4] == (1500, True, True, (False, False))


@pytest.mark.parametrize(
    "options",
    [
        {"controlled": False},
        {"warm_up_steps": 150},
        {"num_vehicles": 20, "learners": (0, 3, 19)},
        {"num_vehicles": 2},
        {"radius": 40.0},
        {"radius": 27.0},
        {"speed_limit": 12.5, "max_accel": 4.0},
        {"human_type": {"length": 7.5, "min_gap": 1.0, "decel": 3.0}},
        {"learner_type": {"headway_seconds": 1.6, "accel": 2.2, "speed_deviation": 0.0}},
        {"learner_speed_mode": 31},
        {"learner_speed_mode": 7, "max_accel": 5.0},
        {"human_speed_mode": 1, "start_jitter": 3.0},
        {"state": "relative", "reward": "desired_velocity"},
    ],
    ids=str,
)
def test_options_change_both_roads_alike(options):
    found = side_by_side(held, 5, 600, **options)
    assert found.speeds_equal
    assert found.shown_equal
    assert found.frames_apart < 1e-4


REAR_END = {"learner_speed_mode": 0, "max_accel": 3.0}
ON_THE_CROSSING = {"learner_speed_mode": 33, "human_speed_mode": 33}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("options", [REAR_END, ON_THE_CROSSING], ids=["rear end", "crossing"])
def test_a_crash_happens_in_the_same_step_with_the_same_bits(options, seed):
    found = side_by_side(full, seed, 1500, **options)
    assert found.steps < 1500
    assert found.ends == (True, True)
    assert found.speeds_equal
