"""Figure Eight as a user of RLlib would have it: PPO with seven policies, all in this process.

The settings are those of fmarl's paper profile as far as RLlib has them. Runs in an environment of
its own (`environments.py`); `training.py` says what still differs. `--smoke` plays one slot.
"""

from typing import Any

import ray  # type: ignore[import-not-found]
import torch  # type: ignore[import-not-found]
from ray.rllib.algorithms.ppo import PPOConfig  # type: ignore[import-not-found]
from ray.rllib.core.rl_module.default_model_config import (  # type: ignore[import-not-found]
    DefaultModelConfig,
)
from ray.rllib.env.wrappers.pettingzoo_env import (  # type: ignore[import-not-found]
    ParallelPettingZooEnv,
)
from ray.tune.registry import register_env  # type: ignore[import-not-found]
from turns import serve

from fmarl.worlds.as_pettingzoo import WorldParallelEnv
from fmarl.worlds.registry import make_world

SLOT_STEPS = 250
NAMES = [f"agent_{number}" for number in range(7)]


def algorithm() -> Any:
    """PPO that plays and learns here, without workers of its own."""
    register_env("road", lambda _: ParallelPettingZooEnv(_road()))
    networks = DefaultModelConfig(
        fcnet_hiddens=[64, 64], fcnet_activation="tanh", vf_share_layers=False, free_log_std=True
    )
    config = (
        PPOConfig()
        .environment("road")
        .env_runners(num_env_runners=0, rollout_fragment_length=SLOT_STEPS)
        .learners(num_learners=0)
        .multi_agent(policies=set(NAMES), policy_mapping_fn=lambda agent, *_, **__: str(agent))
        .rl_module(model_config=networks)
        .training(
            lr=1e-4,
            gamma=0.9,
            lambda_=1.0,
            train_batch_size_per_learner=SLOT_STEPS,
            minibatch_size=SLOT_STEPS,
            num_epochs=3,  # of slots that RLlib makes a row longer: four steps of 250 rows
            clip_param=0.2,
            vf_clip_param=float("inf"),
            vf_loss_coeff=0.5,
            entropy_coeff=0.0,
            use_kl_loss=False,
            grad_clip=None,
        )
    )
    return config.build_algo()


def _road() -> Any:
    return WorldParallelEnv(make_world("figure-eight"))


if __name__ == "__main__":
    torch.set_num_threads(1)
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    learners = algorithm()

    def play(slots: int) -> None:
        """One training iteration of RLlib is one slot."""
        for _ in range(slots):
            learners.train()

    serve(play)
    learners.stop()
    ray.shutdown()
