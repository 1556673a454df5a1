"""Results that no run has made, for tests of what is concluded from results."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.reproduce.bound_runs import is_bound_run
from fmarl.reproduce.methods import on_seed, table_methods
from fmarl.reproduce.paper import PARTS
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.results import Result, result_of
from fmarl.reproduce.run_plan import Task, planned
from fmarl.reproduce.study import Choices, Length, Study
from fmarl.reproduce.study_results import Evidence

TINY = Length(
    num_epochs=20,
    merge_epochs=20,
    test_every=10,
    test_repetitions=2,
    seeds=5,
    table_seeds=6,
    tuned_epochs=20,
    merge_tuned_epochs=20,
    bound_seeds=5,
    tuning_seeds=(100,),
    tuned_rates=(1e-4, 3e-4, 1e-3, 3e-3),
    tuned_regions=(1e-2, 3e-3, 1e-3, 3e-4),
)
STUDY = Study("quick", "standard", TINY, Choices())

Score = Callable[[Task], float]


def record(experiment: Experiment, height: float, **changes: Any) -> dict[str, Any]:
    """What would be kept of a run that rises to a height at once."""
    tests = range(0, experiment.num_epochs + 1, experiment.test_every)
    count = len(tests)
    facts: dict[str, Any] = {
        "key": key_of(experiment),
        "experiment": describe_experiment(experiment),
        "failed": "",
        "epochs": list(tests),
        "rewards": [[height, height + 0.002]] * count,
        "crashed": [0] * count,
        "uploads": [100 * index for index in range(count)],
        "exchanges": [0] * count,
        "totals": {"uploads": 0, "updates": 0, "exchanges": 0, "mixings": 0, "bytes_sent": 0},
        "measured": [10.0, 10 * (1 - height), 100.0, height / 10],
        "gradient_norms": [None] * count,
        "bound": _bound(height) if is_bound_run(experiment) else None,
        "metrics_sha256": "0" * 64,
    }
    return facts | changes


def _bound(height: float) -> dict[str, Any]:
    constants = {"smoothness": 9.0, "gradient_noise": 1.0}
    norms = {"gradient_norm": 1.0, "corrected": 1.0 + height, "printed": 0.5}
    return {"constants": constants, **norms, "is_proved": True, "is_claimed": True}


def results_of(study: Study, score: Score) -> dict[str, Result]:
    """A result for every run of a study; those at a best η follow from those before them."""
    return dict(_results_of(study, score))


@cache
def _results_of(study: Study, score: Score) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for _ in range(2):
        for task in planned(study, PARTS, results):
            results.setdefault(task.key, result_of(record(task.experiment, score(task))))
    return results


def few_methods(heights: Mapping[str, float]) -> Evidence:
    """Five seeds of some methods of Table IV, as high as is said, give or take a little."""
    methods = table_methods(STUDY)
    tasks = [
        (Task(name, on_seed(methods[name], seed)), height)
        for name, height in heights.items()
        for seed in range(5)
    ]
    records = [record(task.experiment, height + noise(task)) for task, height in tasks]
    return Evidence(STUDY, {facts["key"]: result_of(facts) for facts in records})


@cache
def evidence(score: Score, study: Study = STUDY) -> Evidence:
    """All that there is to know, made up."""
    return Evidence(study, results_of(study, score))


def noise(task: Task) -> float:
    """A small number that belongs to a task, the same each time."""
    return float(np.random.default_rng(int(task.key, 16)).normal(scale=1e-3))


def facts_by_name(study: Study, results: Mapping[str, Result]) -> dict[str, Result]:
    """The results under the names of their tasks."""
    return {task.name: results[task.key] for task in planned(study, PARTS, results)}
