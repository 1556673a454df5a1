"""Each method at its own best learning rate.

Decay, masks and even τ act partly as a step size (docs/reproduction.md), so methods are compared a
second time, each at the η that suits it. It is chosen on seeds that are not reported.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fmarl.engine.experiment import Experiment
from fmarl.report.statistics import area_under_curve
from fmarl.reproduce.keys import key_of
from fmarl.reproduce.methods import (
    Experiments,
    at_rate,
    federated_or_not,
    in_merge,
    on_seed,
    table_methods,
)
from fmarl.reproduce.results import Result
from fmarl.reproduce.study import Study

TUNED = "tuned "
"""How the name begins of a method with its own best η."""


def tuning_experiments(study: Study) -> Experiments:
    """The runs on which every method's η is chosen."""
    return {
        f"tuning {name} η={rate:g} seed {seed}": _tuning(study, experiment, rate, seed)
        for seed in study.length.tuning_seeds
        for name, experiment in tunable(study).items()
        for rate in rates(study)
    }


def tuned_experiments(study: Study, results: Mapping[str, Result]) -> Experiments:
    """Methods at their best η, as far as it is known."""
    methods = tunable(study)
    return {
        TUNED + name: _short(study, at_rate(methods[name], rate))
        for name, rate in best_rates(study, results).items()
        if rate is not None
    }


def not_yet_tuned(study: Study, results: Mapping[str, Result]) -> list[Experiment]:
    """What will be run when the missing η are known, but for these; to tell how long it takes."""
    methods = tunable(study)
    return [
        on_seed(_short(study, methods[name]), seed)
        for name, rate in best_rates(study, results).items()
        if rate is None
        for seed in range(study.length.seeds)
    ]


def best_rates(study: Study, results: Mapping[str, Result]) -> dict[str, float | None]:
    """The η of each method with the largest mean area under its curve of tests.

    None for a method that some of its runs are still missing of.
    """
    return {name: _best(areas) for name, areas in areas_by_rate(study, results).items()}


def areas_by_rate(study: Study, results: Mapping[str, Result]) -> dict[str, dict[float, float]]:
    """Mean area under the curves of the tuning seeds, for every method and η.

    Not a number where runs are missing.
    """
    return {
        name: {rate: _mean_area(study, experiment, rate, results) for rate in rates(study)}
        for name, experiment in tunable(study).items()
    }


def _best(areas: Mapping[float, float]) -> float | None:
    unknown = any(np.isnan(area) for area in areas.values())
    return None if unknown else max(areas, key=lambda rate: areas[rate])


def _mean_area(
    study: Study, experiment: Experiment, rate: float, results: Mapping[str, Result]
) -> float:
    runs = [_tuning(study, experiment, rate, seed) for seed in study.length.tuning_seeds]
    return float(np.mean([_area(results.get(key_of(run))) for run in runs]))


def rates(study: Study) -> tuple[float, ...]:
    """η to choose from: around the study's own."""
    tried = study.length.tuned_rates
    factor = study.choices.learning_rate / tried[0]
    return tuple(float(f"{rate * factor:.6g}") for rate in tried)


def tunable(study: Study) -> Experiments:
    """Methods that are also run at their own best η: all of them."""
    return {**table_methods(study), **federated_or_not(study), **in_merge(study)}


def _tuning(study: Study, experiment: Experiment, rate: float, seed: int) -> Experiment:
    return on_seed(_short(study, at_rate(experiment, rate)), seed)


def _short(study: Study, experiment: Experiment) -> Experiment:
    length = study.length
    is_merge = experiment.world == "merge"
    return replace(
        experiment, num_epochs=length.merge_tuned_epochs if is_merge else length.tuned_epochs
    )


def _area(result: Result | None) -> float:
    """Not a number if the run is not there yet; what failed has its last test to the end."""
    if result is None:
        return float("nan")
    return area_under_curve(result.epochs.tolist(), result.curve.tolist())
