"""Figure Eight as a user of Stable-Baselines3 would have it: seven PPO learners in lock step.

Stable-Baselines3 knows one agent, so its user writes the loop over agents that stands here: every
learner acts, the world steps, every learner remembers; after 250 steps every learner learns. The
settings are those of fmarl's paper profile. Runs in an environment of its own
(`environments.py`); `--smoke` plays one slot.
"""

from typing import Any

import gymnasium
import numpy as np
import torch  # type: ignore[import-not-found]
from stable_baselines3 import PPO  # type: ignore[import-not-found]
from stable_baselines3.common.logger import configure  # type: ignore[import-not-found]
from turns import serve

from fmarl.worlds.as_pettingzoo import WorldParallelEnv
from fmarl.worlds.registry import make_world

DISCOUNT = 0.9
SLOT_STEPS = 250


class OneAgent(gymnasium.Env):
    """What a learner asks of its own world when it is made: two spaces."""

    def __init__(self, sees: gymnasium.Space, does: gymnasium.Space) -> None:
        self.observation_space, self.action_space = sees, does


def learner(sees: gymnasium.Space, does: gymnasium.Space) -> Any:
    """PPO with its own networks: 64-64 tanh, actor and critic apart, as is the default."""
    model = PPO(
        "MlpPolicy",
        OneAgent(sees, does),
        learning_rate=1e-4,
        n_steps=SLOT_STEPS,
        batch_size=SLOT_STEPS,
        n_epochs=4,
        gamma=DISCOUNT,
        gae_lambda=1.0,
        ent_coef=0.0,
        vf_coef=0.5,
        max_grad_norm=float("inf"),
        device="cpu",
    )
    model.set_logger(configure(None, []))
    return model


class Lockstep:
    """All learners in one world."""

    def __init__(self) -> None:
        self.env = WorldParallelEnv(make_world("figure-eight"))
        self.models = {
            name: learner(self.env.observation_space(name), self.env.action_space(name))
            for name in self.env.possible_agents
        }
        self.observations, _ = self.env.reset(seed=0)
        self.starts = np.ones(1)

    def play(self, slots: int) -> None:
        """Collect a slot, learn from it, and so on."""
        for _ in range(slots):
            for model in self.models.values():
                model.policy.set_training_mode(False)
                model.rollout_buffer.reset()
            with torch.no_grad():
                for _ in range(SLOT_STEPS):
                    self._step()
                self._look_ahead()
            for model in self.models.values():
                model.train()

    def _step(self) -> None:
        chosen = {
            name: model.policy(_tensor(self.observations[name]))
            for name, model in self.models.items()
        }
        actions = {name: np.clip(action.numpy()[0], -1, 1) for name, (action, *_) in chosen.items()}
        observations, rewards, _, truncated, infos = self.env.step(actions)
        for name, model in self.models.items():
            action, value, log_probability = chosen[name]
            reward = rewards[name]
            if truncated[name]:
                future = model.policy.predict_values(_tensor(infos[name]["successor"]))
                reward += DISCOUNT * future.item()
            model.rollout_buffer.add(
                self.observations[name][None],
                action.numpy(),
                np.array([reward]),
                self.starts,
                value,
                log_probability,
            )
        over = not self.env.agents
        self.observations = self.env.reset()[0] if over else observations
        self.starts = np.array([float(over)])

    def _look_ahead(self) -> None:
        for name, model in self.models.items():
            future = model.policy.predict_values(_tensor(self.observations[name]))
            model.rollout_buffer.compute_returns_and_advantage(future, self.starts)


def _tensor(observation: np.ndarray) -> Any:
    return torch.as_tensor(observation)[None]


if __name__ == "__main__":
    torch.set_num_threads(1)
    serve(Lockstep().play)
