"""The settings of a task in the names of Stable-Baselines3 and sb3-contrib, as keyword arguments.

Plain strings and numbers, so that a file can hold them; needs no torch.
"""

from typing import Any

import fmarl
from peers.tasks import Task

ADAM_EPS = 1e-5
"""Ours; their PPO and TRPO have the same by default, their SAC 1e-8."""


def settings(task: Task) -> dict[str, Any]:
    """Name of their algorithm, and its arguments.

    >>> from peers.tasks import TASKS
    >>> settings(TASKS["cartpole-ppo"])["batch_size"]
    128
    """
    match task.learning:
        case fmarl.PPOConfig() as learning:
            own = _ppo(task, learning)
        case fmarl.TRPOConfig() as learning:
            own = _trpo(task, learning)
        case fmarl.TACConfig() as learning:
            own = _sac(task, learning)
    return {**own, "gamma": task.agent.discount}


def _ppo(task: Task, learning: fmarl.PPOConfig) -> dict[str, Any]:
    return {
        "algorithm": "PPO",
        "learning_rate": task.learning_rate,
        "batch_size": task.steps_per_update // learning.minibatches,
        "n_epochs": learning.passes,
        "clip_range": learning.clip_range,
        "clip_range_vf": learning.clip_value_loss or None,
        "ent_coef": learning.entropy_weight,
        "vf_coef": learning.value_weight,
        "max_grad_norm": task.agent.max_gradient_norm,
        **_on_policy(task, learning),
    }


def _trpo(task: Task, learning: fmarl.TRPOConfig) -> dict[str, Any]:
    """Their critic takes minibatches; ours, and so both, the whole slot at once."""
    return {
        "algorithm": "TRPO",
        "learning_rate": learning.critic_learning_rate,
        "batch_size": task.steps_per_update,
        "n_critic_updates": learning.critic_passes,
        "target_kl": learning.target_kl,
        "cg_max_steps": learning.cg_steps,
        "cg_damping": learning.cg_damping,
        "line_search_max_iter": learning.line_search_steps,
        "line_search_shrinking_factor": learning.line_search_shrink,
        **_on_policy(task, learning),
    }


def _on_policy(task: Task, learning: fmarl.PPOConfig | fmarl.TRPOConfig) -> dict[str, Any]:
    return {
        "n_steps": task.steps_per_update,
        "gae_lambda": learning.gae_lambda,
        "normalize_advantage": learning.normalise_advantages,
        "policy_kwargs": {
            **_networks(task, "pi", "vf"),
            "log_std_init": learning.initial_log_std,
            "ortho_init": True,
        },
    }


def _sac(task: Task, learning: fmarl.TACConfig) -> dict[str, Any]:
    """They have no entropic index: theirs is always 1."""
    return {
        "algorithm": "SAC",
        "learning_rate": task.learning_rate,
        "buffer_size": learning.replay_capacity,
        "learning_starts": learning.random_updates * task.steps_per_update,
        "batch_size": learning.batch_size,
        "tau": learning.target_rate,
        "train_freq": task.steps_per_update,
        "gradient_steps": learning.updates_per_slot,
        "ent_coef": learning.entropy_weight,
        "policy_kwargs": _networks(task, "pi", "qf"),
    }


def _networks(task: Task, *names: str) -> dict[str, Any]:
    return {
        "net_arch": {name: list(task.agent.hidden) for name in names},
        "activation_fn": task.agent.activation,
        "optimizer_kwargs": {"eps": ADAM_EPS},
    }
