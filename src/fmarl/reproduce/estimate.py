"""How long runs will take, before they are started and as they go."""

from collections.abc import Iterable

from fmarl.engine.experiment import Experiment
from fmarl.reproduce import paper

START_SECONDS = 2.0
"""Of one core: the process of the world; those that train are there already."""
STEP_SECONDS = {
    ("figure-eight", "ppo"): 1.2e-4,
    ("merge", "ppo"): 5e-4,
    ("merge", "trpo"): 5e-4,
    ("merge", "tac"): 7e-4,
}
"""Of one core per step of the world, learning included, as measured where this was written."""


def core_seconds(experiment: Experiment) -> float:
    """What a run costs on one core, roughly.

    >>> round(core_seconds(Experiment(num_epochs=100, test_every=0)))
    20
    """
    tests = experiment.num_epochs // experiment.test_every + 1 if experiment.test_every else 0
    epochs = experiment.num_epochs + tests * experiment.test_repetitions
    cost = STEP_SECONDS[experiment.world, experiment.algorithm]
    return START_SECONDS + epochs * paper.EPOCH_STEPS * cost


def wall_seconds(experiments: Iterable[Experiment], cores: int, pace: float = 1.0) -> float:
    """What runs take together on so many cores; `pace` is measured over estimated time so far."""
    return pace * sum(map(core_seconds, experiments)) / cores
