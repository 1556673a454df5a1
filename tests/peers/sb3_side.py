"""The other side of the comparison: Stable-Baselines3 and sb3-contrib with the same settings."""

import numpy as np
import pytest

from peers.sb3_settings import settings
from peers.score import Trained, make_environment
from peers.tasks import Task

torch = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")
sb3_contrib = pytest.importorskip("sb3_contrib")
monitor = pytest.importorskip("stable_baselines3.common.monitor")

ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}


def train(task: Task, seed: int) -> Trained:
    """Train with their own loop, on one core."""
    torch.set_num_threads(1)
    arguments = settings(task)
    kind = {"PPO": sb3.PPO, "TRPO": sb3_contrib.TRPO, "SAC": sb3.SAC}[arguments.pop("algorithm")]
    policy = arguments.pop("policy_kwargs")
    policy["activation_fn"] = ACTIVATIONS[policy["activation_fn"]]
    env = monitor.Monitor(make_environment(task.env_id))
    model = kind("MlpPolicy", env, policy_kwargs=policy, seed=seed, device="cpu", **arguments)
    model.learn(task.steps)
    return Trained(
        lambda observation: model.predict(observation, deterministic=True)[0],
        float(np.mean(env.get_episode_rewards())),
    )
