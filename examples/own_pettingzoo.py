"""Your own PettingZoo environment, trained federated: drones that should meet at one height.

From the command line, in this folder:
fmarl train own_pettingzoo:Drones --set epoch_steps=50 --steps-per-update 50
"""

import tempfile

import numpy as np
from gymnasium.spaces import Box
from pettingzoo import ParallelEnv

import fmarl


class Drones(ParallelEnv):
    """Each sees its own height and the mean of all, climbs or sinks, and earns by being near it."""

    metadata = {"name": "drones"}  # noqa: RUF012 — PettingZoo's convention
    possible_agents = ["anna", "bert", "carl"]  # noqa: RUF012

    def observation_space(self, agent):
        """Own height, mean height."""
        return Box(-10, 10, (2,), np.float32)

    def action_space(self, agent):
        """How far to climb."""
        return Box(-1, 1, (1,), np.float32)

    def reset(self, seed=None, options=None):
        """Start at heights drawn at random."""
        self.agents = list(self.possible_agents)
        self.heights, self.steps = np.random.default_rng(seed).uniform(-1, 1, 3), 0
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions):
        """Climb; 50 steps are an epoch."""
        self.heights += [0.2 * float(actions[agent][0]) for agent in self.agents]
        self.heights, self.steps = np.clip(self.heights, -10, 10), self.steps + 1
        here, over = self.agents, self.steps == 50
        far = np.abs(self.heights - self.heights.mean())
        reward = {agent: -float(miss) for agent, miss in zip(here, far, strict=True)}
        seen, same = self._seen(), {agent: {} for agent in here}
        self.agents = [] if over else here
        return seen, reward, dict.fromkeys(here, False), dict.fromkeys(here, over), same

    def _seen(self):
        rows = np.stack([self.heights, np.full(3, self.heights.mean())], axis=1)
        return dict(zip(self.possible_agents, rows.astype(np.float32), strict=True))


if __name__ == "__main__":
    experiment = fmarl.Experiment(
        world="own_pettingzoo:Drones",
        set=("epoch_steps=50",),
        together=fmarl.MethodConfig(method="periodic", sync_period=5, learning_rate=1e-3),
        num_epochs=80,
        steps_per_update=50,
        test_every=40,
    )
    with tempfile.TemporaryDirectory() as folder:
        tests = []
        fmarl.train(experiment, f"{folder}/run", listen=tests.append)
    for line in tests:
        if line["kind"] == "test":
            print(f"epoch {line['epoch']}: mean reward {line['mean']:.3f}")
