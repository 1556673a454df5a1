"""Train independent reinforcement-learning agents together, and count every byte they exchange.

>>> import fmarl
>>> experiment = fmarl.Experiment(world="toy-quadratic", set=("num_agents=3",), num_epochs=2)
>>> run = fmarl.train(experiment)  # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fmarl.algorithms.agent_config import AgentConfig
    from fmarl.algorithms.algorithm import Algorithm
    from fmarl.algorithms.ppo import PPOConfig
    from fmarl.algorithms.tac import TACConfig
    from fmarl.algorithms.trpo import TRPOConfig
    from fmarl.engine.experiment import Experiment
    from fmarl.engine.run import Run, resume, train
    from fmarl.federation.make_method import make_method
    from fmarl.federation.method import Method
    from fmarl.federation.recipes import MethodConfig, Recipe, Team

__version__ = "0.1.0"

_HOMES = {
    "AgentConfig": "fmarl.algorithms.agent_config",
    "Algorithm": "fmarl.algorithms.algorithm",
    "Experiment": "fmarl.engine.experiment",
    "Method": "fmarl.federation.method",
    "MethodConfig": "fmarl.federation.recipes",
    "PPOConfig": "fmarl.algorithms.ppo",
    "Recipe": "fmarl.federation.recipes",
    "Run": "fmarl.engine.run",
    "TACConfig": "fmarl.algorithms.tac",
    "TRPOConfig": "fmarl.algorithms.trpo",
    "Team": "fmarl.federation.recipes",
    "make_method": "fmarl.federation.make_method",
    "resume": "fmarl.engine.run",
    "train": "fmarl.engine.run",
}
"""Where each public name lives; loaded when first used, for `import fmarl` must not load JAX."""

__all__ = [
    "AgentConfig",
    "Algorithm",
    "Experiment",
    "Method",
    "MethodConfig",
    "PPOConfig",
    "Recipe",
    "Run",
    "TACConfig",
    "TRPOConfig",
    "Team",
    "make_method",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fmarl' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
