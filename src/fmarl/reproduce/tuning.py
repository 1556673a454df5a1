"""Each method at its own best step size.

Decay, masks and even τ act partly as a step size (docs/reproduction.md), so methods are compared a
second time, each at the step that suits it: at its own η or, under TRPO, whose step is the same at
every η, with its own trust region. It is chosen on seeds that are not reported.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fmarl.engine.experiment import Experiment
from fmarl.report.statistics import area_under_curve
from fmarl.reproduce.methods import (
    Experiments,
    at_rate,
    federated_or_not,
    in_merge,
    on_seed,
    table_methods,
)
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.results import Result
from fmarl.reproduce.study import Study

TUNED = "tuned "
"""How the name begins of a method with its own best step."""


def tuning_experiments(study: Study) -> Experiments:
    """The runs on which every method's step is chosen."""
    return {
        f"tuning {name} {step_symbol(experiment)}={step:g} seed {seed}": on_seed(candidate, seed)
        for seed in study.length.tuning_seeds
        for name, experiment in tunable(study).items()
        for step, candidate in candidates(study, experiment).items()
    }


def tuned_experiments(study: Study, results: Mapping[str, Result]) -> Experiments:
    """Methods at their best step, as far as it is known."""
    methods = tunable(study)
    return {
        TUNED + name: candidates(study, methods[name])[step]
        for name, step in best_steps(study, results).items()
        if step is not None
    }


def not_yet_tuned(study: Study, results: Mapping[str, Result]) -> list[Experiment]:
    """What will be run when the missing steps are known, but for these; to tell how long it is."""
    methods = tunable(study)
    return [
        on_seed(_short(study, methods[name]), seed)
        for name, step in best_steps(study, results).items()
        if step is None
        for seed in range(study.length.seeds)
    ]


def best_steps(study: Study, results: Mapping[str, Result]) -> dict[str, float | None]:
    """The step of each method with the largest mean area under its curve of tests.

    None for a method that some of its runs are still missing of.
    """
    return {name: _best(areas) for name, areas in areas_by_step(study, results).items()}


def areas_by_step(study: Study, results: Mapping[str, Result]) -> dict[str, dict[float, float]]:
    """Mean area under the curves of the tuning seeds, for every method and step.

    Not a number where runs are missing.
    """
    seeds = study.length.tuning_seeds
    return {
        name: {
            step: float(np.mean([_area(results.get(key_of(on_seed(one, seed)))) for seed in seeds]))
            for step, one in candidates(study, experiment).items()
        }
        for name, experiment in tunable(study).items()
    }


def _best(areas: Mapping[float, float]) -> float | None:
    unknown = any(np.isnan(area) for area in areas.values())
    return None if unknown else max(areas, key=lambda step: areas[step])


def candidates(study: Study, experiment: Experiment) -> dict[float, Experiment]:
    """The same method at every step that it can choose from."""
    short = _short(study, experiment)
    if experiment.algorithm == "trpo":
        regions = study.length.tuned_regions
        return {kl: replace(short, trpo=replace(short.trpo, target_kl=kl)) for kl in regions}
    return {rate: at_rate(short, rate) for rate in rates(study)}


def step_symbol(experiment: Experiment) -> str:
    """What the step of a method is called."""
    return "KL" if experiment.algorithm == "trpo" else "η"


def rates(study: Study) -> tuple[float, ...]:
    """η to choose from: around the study's own."""
    tried = study.length.tuned_rates
    factor = study.choices.learning_rate / tried[0]
    return tuple(float(f"{rate * factor:.6g}") for rate in tried)


def tunable(study: Study) -> Experiments:
    """Methods that are also run at their own best step: all of them."""
    return {**table_methods(study), **federated_or_not(study), **in_merge(study)}


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
