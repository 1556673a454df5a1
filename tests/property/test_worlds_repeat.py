"""The law that recovery rests on: the same seed and actions give the same bits, anywhere."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fmarl.worlds.gymnasium_world import gymnasium_world
from fmarl.worlds.pettingzoo_world import pettingzoo_world
from fmarl.worlds.toy import bumpy_world, quadratic_world
from fmarl.worlds.world import World

WORLDS: dict[str, Callable[[], World]] = {
    "quadratic": lambda: quadratic_world(2, reward_noise=0.1, epoch_steps=7),
    "bumpy": lambda: bumpy_world(2, reward_noise=0.1, epoch_steps=7),
    "cartpole": lambda: gymnasium_world("CartPole-v1", 2, 15, max_episode_steps=9),
    "pendulum": lambda: gymnasium_world("Pendulum-v1", 2, 15, max_episode_steps=6),
    "frozen lake": lambda: gymnasium_world("FrozenLake-v1", 2, 15),
    "blackjack": lambda: gymnasium_world("Blackjack-v1", 2, 15),
    "spread": lambda: pettingzoo_world("mpe2.simple_spread_v3", max_cycles=12),
    "spread, continuous": lambda: pettingzoo_world(
        "mpe2.simple_spread_v3", max_cycles=12, continuous_actions=True
    ),
}
SHARES = arrays(
    np.float32, st.tuples(st.integers(1, 20), st.just(3)), elements=st.floats(0, 1, width=32)
)


@cache
def used_world(name: str) -> World:
    """One world that all examples share: what came before must leave no trace."""
    return WORLDS[name]()


def digest(world: World, seed: int, shares: np.ndarray) -> str:
    """Hash of everything that a world gives, with actions made from numbers of 0 to 1."""
    spec = world.spec
    seen = hashlib.sha256(world.reset(seed).tobytes())
    for share in shares:
        rows = np.resize(share, (spec.num_agents, spec.action_size))
        whole = np.minimum(np.floor(rows * spec.num_actions), spec.num_actions - 1)
        step = world.step(whole if spec.is_discrete else 2 * rows - 1)
        for array in step[:-1]:
            seen.update(np.asarray(array).tobytes())
        if step.over:
            seen.update(world.reset(seed + 1).tobytes())
    return seen.hexdigest()


@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**40), shares=SHARES)
def test_replaying_gives_the_same_bits(name, seed, shares):
    with WORLDS[name]() as fresh:
        first = digest(fresh, seed, shares)
        assert digest(fresh, seed, shares) == first
    assert digest(used_world(name), seed, shares) == first


@pytest.mark.parametrize("name", WORLDS)
def test_other_seeds_give_other_bits(name):
    shares = np.full((12, 3), 0.5, dtype=np.float32)
    hashes = {digest(used_world(name), seed, shares) for seed in range(0, 40, 2)}
    assert len(hashes) > 1


def test_another_process_gives_the_same_bits():
    script = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_worlds_repeat as here
print(*here.all_digests(), sep="\\n")
"""
    other = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    assert other.stdout.split() == all_digests()


def all_digests() -> list[str]:
    shares = np.random.default_rng(3).random((30, 3), dtype=np.float32)
    return [digest(used_world(name), 11, shares) for name in WORLDS]
