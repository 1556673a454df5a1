"""Experiments small enough for tests: a toy world, narrow networks, a few slots."""

from typing import Any

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.engine.experiment import Experiment
from fmarl.federation.recipes import MethodConfig

TOY = ("num_agents=3", "epoch_steps=40", "reward_noise=0.2", "targets=0.6")


def toy(**changes: Any) -> Experiment:
    """Ten slots of twenty steps on the bumpy toy, unless changed."""
    settings: dict[str, Any] = {
        "world": "toy-bumpy",
        "set": TOY,
        "together": MethodConfig(sync_period=3, learning_rate=1e-2),
        "agent": AgentConfig(hidden=(8,)),
        "num_epochs": 5,
        "steps_per_update": 20,
        "test_every": 2,
        "test_repetitions": 2,
        "sample_slots": 2,
    }
    return Experiment(**(settings | changes))
