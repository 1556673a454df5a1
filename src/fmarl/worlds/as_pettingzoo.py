"""Our worlds for everyone else: any `World` as a PettingZoo `ParallelEnv`.

Importing this file imports PettingZoo; nothing else in `fmarl.worlds` does at import.
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from pettingzoo import ParallelEnv

from fmarl.errors import BadInput
from fmarl.worlds.world import Observation, Step, World, WorldSpec


class WorldParallelEnv(ParallelEnv[str, np.ndarray, Any]):
    """A world whose rows have names: `agent_0`, `agent_1` and so on.

    PettingZoo's agents never come back once they have ended; a world's agents may restart by
    themselves or be absent for a while. So here all agents live until the world's epoch is over,
    when each is terminated or truncated, and what happened to one of them before is in its info:

    - `present`: whether it was there to act; absent, it sees zeros and earns nothing.
    - `terminated`, `truncated`: whether its own epoch ended in this step.
    - `successor`: what its action led to, before any restart; value estimates start from here.

    >>> from fmarl.worlds.toy import quadratic_world
    >>> env = WorldParallelEnv(quadratic_world(2))
    >>> observations, infos = env.reset(seed=0)
    >>> env.agents
    ['agent_0', 'agent_1']
    """

    render_mode = None

    def __init__(self, world: World) -> None:
        spec = world.spec
        self.metadata = {"name": spec.name, "is_parallelizable": True, "render_modes": []}
        self.possible_agents = [f"agent_{row}" for row in range(spec.num_agents)]
        self.agents: list[str] = []
        names = self.possible_agents
        self.observation_spaces = {name: _numbers(spec.observation_size) for name in names}
        self.action_spaces = {name: _action_space(spec) for name in names}
        self.state_space = _numbers(spec.num_agents * spec.observation_size)
        self._world = world
        self._seeds = np.random.default_rng(0)
        self._observation: Observation = np.zeros(
            (spec.num_agents, spec.observation_size), dtype=np.float32
        )

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Begin an epoch. Without a seed it differs from the last, yet repeats from run to run.

        Seeds left out are drawn from a generator that the last given seed has started; before
        any is given, from one that starts at 0. Options are accepted and have no effect.
        """
        if seed is None:
            seed = int(self._seeds.integers(2**31))
        else:
            self._seeds = np.random.default_rng(max(seed, 0))  # the world refuses below 0
        self._observation = self._world.reset(seed)
        self.agents = list(self.possible_agents)
        return self._by_name(self._observation), {name: {} for name in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, np.ndarray],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Let all agents act; every one of them must have an action."""
        step = self._world.step(self._rows(actions))
        self._observation = step.observation
        if step.over:
            self.agents = []
        terminated = step.terminated & step.over
        return (
            self._by_name(step.observation),
            self._by_name(step.reward.tolist()),
            self._by_name(terminated.tolist()),
            self._by_name((~terminated & step.over).tolist()),
            self._by_name([_info(step, row) for row in range(len(self.possible_agents))]),
        )

    def observation_space(self, agent: str) -> Space:
        """Any numbers: a world does not tell its bounds."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        """Numbers from −1 to 1, or choices."""
        return self.action_spaces[agent]

    def state(self) -> np.ndarray:
        """What all agents see together, one after another."""
        return self._observation.reshape(-1).copy()

    def render(self) -> None:
        """Nothing: `fmarl` draws worlds from their frames elsewhere."""

    def close(self) -> None:
        self.agents = []
        self._world.close()

    def _by_name(self, rows: Any) -> dict[str, Any]:
        return dict(zip(self.possible_agents, rows, strict=True))

    def _rows(self, actions: dict[str, Any]) -> np.ndarray:
        if set(actions) != set(self.possible_agents):
            odd = min(map(str, set(actions) ^ set(self.possible_agents)))
            raise BadInput(
                f"actions of {len(actions)} agents are not allowed: one for each of"
                f" {len(self.possible_agents)}. Look at {odd!r}."
            )
        try:
            rows = np.stack([np.ravel(actions[name]) for name in self.possible_agents])
            with np.errstate(over="ignore"):  # the world refuses infinite numbers
                return rows.astype(np.float32)
        except (TypeError, ValueError):
            raise BadInput(
                "actions of unlike sizes are not allowed:"
                f" {self._world.spec.action_size} for each agent. Sample one from action_space."
            ) from None


def _info(step: Step, row: int) -> dict[str, Any]:
    return {
        "present": bool(step.present[row]),
        "terminated": bool(step.terminated[row]),
        "truncated": bool(step.truncated[row]),
        "successor": step.successor[row],
    }


def _action_space(spec: WorldSpec) -> Space:
    if spec.is_discrete:
        return Discrete(spec.num_actions)
    return Box(-1.0, 1.0, (spec.num_actions,), np.float32)


def _numbers(size: int) -> Box:
    return Box(-np.inf, np.inf, (size,), np.float32)
