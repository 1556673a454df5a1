"""An experiment made of the three plugins in `examples/`."""

from pathlib import Path
from typing import Any

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.engine.experiment import Experiment
from fmarl.federation.recipes import MethodConfig

EXAMPLES = Path(__file__).parents[3] / "examples"


def own_experiment(**changes: Any) -> Experiment:
    """Two epochs of two slots, in which nothing is ours but the engine."""
    together = MethodConfig(
        method="own_method:random_half",
        set_method=("share=0.4",),
        sync_period=2,
        learning_rate=1e-2,
    )
    settings: dict[str, Any] = {
        "world": "own_world:Agreement",
        "set": ("epoch_steps=40",),
        "algorithm": "own_algorithm:make_a2c",
        "set_algorithm": ("entropy_weight=0.01",),
        "together": together,
        "agent": AgentConfig(hidden=(8,)),
        "num_epochs": 2,
        "steps_per_update": 20,
        "test_repetitions": 1,
        "sample_slots": 2,
    }
    return Experiment(**(settings | changes))
