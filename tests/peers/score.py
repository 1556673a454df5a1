"""How good a policy is, whoever trained it: the same episodes, played by the same function.

It plays in Gymnasium's own environments and not in our worlds, so that a mistake in how our worlds
wrap them would show as a worse score.
"""

from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

import gymnasium
import numpy as np

EPISODE_SEEDS = range(10_000, 10_020)
"""Starts of the episodes; no side has trained on them."""

Act = Callable[[np.ndarray], Any]
"""What the environment shows, to what is done: without chance."""


class Trained(NamedTuple):
    """What a side hands over when it has trained."""

    act: Act
    training_return: float
    """Mean return of the episodes that ended while it trained, exploration included."""


def make_environment(env_id: str) -> gymnasium.Env:
    """Gymnasium's environment; numbers to act with are −1 … 1, as our worlds have them."""
    env = gymnasium.make(env_id)
    if isinstance(env.action_space, gymnasium.spaces.Box):
        return gymnasium.wrappers.RescaleAction(env, np.float32(-1), np.float32(1))
    return env


def returns(env_id: str, act: Act) -> list[float]:
    """Sum of the rewards of each episode."""
    with closing(make_environment(env_id)) as env:
        return [_return(env, act, seed) for seed in EPISODE_SEEDS]


def _return(env: gymnasium.Env, act: Act, seed: int) -> float:
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(act(observation))
        total += float(reward)
        over = terminated or truncated
    return total
