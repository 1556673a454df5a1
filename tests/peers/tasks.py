"""What is compared, and with which settings: they stand here once, and both sides are told them.

`ours.py` and `theirs.py` put them into the words of each side. What they could not say alike is
left at its neutral value: the learning rate stays the same (annealed, ours is right at the start of
a slot and theirs at its end), observations are as the environment gives them.

Settings and budgets were chosen with Stable-Baselines3 alone, on seeds from 100 that are not used
here.
"""

from dataclasses import dataclass

import fmarl


@dataclass(frozen=True, kw_only=True)
class Task:
    """One environment, one algorithm, and what we must reach."""

    env_id: str
    """Gymnasium's."""
    steps: int
    """Of training."""
    steps_per_update: int
    learning_rate: float
    agent: fmarl.AgentConfig
    learning: fmarl.PPOConfig | fmarl.TRPOConfig | fmarl.TACConfig
    num_seeds: int = 10
    """Runs of each side, with the seeds 0, 1, …"""
    solved: float | None = None
    """Interquartile mean that we must reach; None for the low end of the other side's interval."""
    lowest: float
    """What a run that failed counts as: no policy can have less."""


TASKS = {
    "cartpole-ppo": Task(
        env_id="CartPole-v1",
        steps=51_200,
        steps_per_update=1024,
        learning_rate=1e-3,
        agent=fmarl.AgentConfig(discount=0.98, max_gradient_norm=0.5),
        learning=fmarl.PPOConfig(gae_lambda=0.95, passes=10, minibatches=8),
        solved=475.0,
        lowest=0.0,
    ),
    "pendulum-ppo": Task(
        env_id="Pendulum-v1",
        steps=100_000,
        steps_per_update=1000,
        learning_rate=1e-3,
        agent=fmarl.AgentConfig(discount=0.9, max_gradient_norm=0.5),
        learning=fmarl.PPOConfig(gae_lambda=0.95, passes=10, minibatches=10),
        lowest=-3300.0,
    ),
}
