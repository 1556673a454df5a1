"""What is compared, and with which settings: they are written here once, for both sides.

`fmarl_side.py` and `sb3_settings.py` translate them. What cannot be set alike is left at its
neutral value: the learning rate is constant (annealed, ours is right at the start of a slot and
theirs at its end), observations are as the environment gives them.

PPO's and TRPO's settings were chosen with Stable-Baselines3 alone, on seeds from 100 that are not
used here; TAC's are near those of its authors.
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


LOWEST_SWING = -3300.0
"""Pendulum's 200 steps at worst: upside down, as fast as it can, with full torque."""


def _pendulum_tac(entropic_index: float) -> Task:
    """The other side is soft actor-critic; ours is of its kind where the index is 1."""
    return Task(
        env_id="Pendulum-v1",
        steps=20_000,
        steps_per_update=200,
        learning_rate=1e-3,
        agent=fmarl.AgentConfig(activation="relu", discount=0.99),
        learning=fmarl.TACConfig(
            entropic_index=entropic_index,
            entropy_weight=0.2,
            updates_per_slot=200,
            random_updates=5,
        ),
        num_seeds=3,
        lowest=LOWEST_SWING,
    )


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
        steps=60_000,
        steps_per_update=1000,
        learning_rate=1e-3,
        agent=fmarl.AgentConfig(discount=0.9, max_gradient_norm=0.5),
        learning=fmarl.PPOConfig(gae_lambda=0.95, passes=10, minibatches=10),
        lowest=LOWEST_SWING,
    ),
    "cartpole-trpo": Task(
        env_id="CartPole-v1",
        steps=51_200,
        steps_per_update=1024,
        learning_rate=1e-3,  # divides TRPO's step and multiplies it again: any would do
        agent=fmarl.AgentConfig(discount=0.98),
        learning=fmarl.TRPOConfig(
            gae_lambda=0.95, cg_damping=1e-3, critic_passes=20, critic_learning_rate=3e-3
        ),
        num_seeds=5,
        solved=475.0,
        lowest=0.0,
    ),
    "pendulum-tac": _pendulum_tac(entropic_index=1.0),
    "pendulum-tac-1.5": _pendulum_tac(entropic_index=1.5),
}
