"""Figure Eight trained by somebody else's learner: Stable-Baselines3's PPO drives all seven.

Needs what fmarl itself does not: pip install torch==2.13.0 stable-baselines3 (or the environment
that `make test-peers` makes). Run it with a number of steps, for example:
python examples/peers/train_with_sb3.py 60000
"""

import sys

import gymnasium
import numpy as np
from stable_baselines3 import PPO  # type: ignore[import-not-found]
from stable_baselines3.common.monitor import Monitor  # type: ignore[import-not-found]

from fmarl.worlds import as_gymnasium


def average_speed(env: gymnasium.Env, model: PPO | None) -> float:
    """NAS of one test epoch, driven by the model's mean actions or by chance."""
    observation, _ = env.reset(seed=1000)
    rewards, over = [], False
    while not over:
        known = model is not None
        action = (
            model.predict(observation, deterministic=True)[0]
            if known
            else env.action_space.sample()
        )
        observation, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
        over = terminated or truncated
    return float(np.mean(rewards))


def main() -> None:
    """Train, and compare with where it began."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
    as_gymnasium.register()
    with gymnasium.make("fmarl/FigureEight-v0") as env:
        before = average_speed(env, None)
        model = PPO("MlpPolicy", Monitor(env), n_steps=1500, batch_size=250, gamma=0.9, seed=0)
        model.learn(steps)
        print(f"NAS {before:.3f} by chance, {average_speed(env, model):.3f} after {steps} steps")


if __name__ == "__main__":
    main()
