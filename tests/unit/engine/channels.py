"""A user's environment, which tests write to a folder of their own; it may have a bug."""

import textwrap
from pathlib import Path

SOURCE = textwrap.dedent(
    """
    import numpy as np
    from gymnasium.spaces import Box, Discrete
    from pettingzoo import ParallelEnv


    class Channels(ParallelEnv):
        metadata = {"name": "channels"}
        possible_agents = ["a", "b"]

        def observation_space(self, agent):
            return Box(-1, 1, (3,), np.float32)

        def action_space(self, agent):
            return Discrete(2)

        def reset(self, seed=None, options=None):
            self.random, self.agents = np.random.default_rng(seed), list(self.possible_agents)
            return self.seen(), {agent: {} for agent in self.agents}

        def step(self, actions):
            seen, rewards = self.seen(), {agent: float(actions[agent]) for agent in self.agents}
            goes_on, infos = dict.fromkeys(self.agents, False), {one: {} for one in self.agents}
            # BUG
            return seen, rewards, goes_on, dict(goes_on), infos

        def seen(self):
            draw = self.random.uniform
            return {agent: draw(-1, 1, 3).astype(np.float32) for agent in self.agents}


    def parallel_env():
        return Channels()
    """
)


def write_channels(folder: Path, bug: str = "pass") -> None:
    (folder / "channels.py").write_text(SOURCE.replace("# BUG", bug))


LATE = "assert seen['a'][0] < 0.98, 'channel 3 is jammed'"
"""A bug that the traffic of some epoch meets: the same one however often that is played."""
