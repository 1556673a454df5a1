"""A world as a single-agent Gymnasium environment: one policy that drives all agents at once.

After `register()`, `gymnasium.make("fmarl/FigureEight-v0")` and `gymnasium.make("fmarl/Merge-v0")`
make the roads; any other world takes `SingleAgentEnv(make_world)`.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from fmarl.errors import require
from fmarl.worlds.remote import RemoteWorld
from fmarl.worlds.world import World


class SingleAgentEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """All agents' observations in a row, all their actions in a row, and their mean reward."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 — Gymnasium's own name and type

    def __init__(self, make_world: Callable[[], World]) -> None:
        self._world = make_world()
        spec = self._world.spec
        require(
            not spec.is_discrete,
            f"{spec.name} with choices",
            "numbers to act with",
            "Use the parallel view, which takes both.",
        )
        self._shape = (spec.num_agents, spec.action_size)
        self.observation_space = Box(-np.inf, np.inf, (spec.num_agents * spec.observation_size,))
        self.action_space = Box(-1.0, 1.0, (spec.num_agents * spec.action_size,))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an epoch; without a seed, with the next one of this environment's generator."""
        super().reset(seed=seed)
        epoch_seed = int(self.np_random.integers(2**31))
        return self._world.reset(epoch_seed).ravel(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        step = self._world.step(np.asarray(action, dtype=np.float32).reshape(self._shape))
        reward = float(step.reward[step.present].mean()) if step.present.any() else 0.0
        ended = bool(step.over and step.terminated.any())
        return step.successor.ravel(), reward, ended, step.over and not ended, {}

    def close(self) -> None:
        self._world.close()


def make_road(road: str, **options: Any) -> SingleAgentEnv:
    """A road in a process of its own, with one policy for all learners."""
    return SingleAgentEnv(lambda: RemoteWorld(road, **options))


def register() -> None:
    """Tell Gymnasium about the roads; calling it again changes nothing."""
    for env_id, road in (("fmarl/FigureEight-v0", "figure-eight"), ("fmarl/Merge-v0", "merge")):
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point=f"{__name__}:make_road", kwargs={"road": road})
