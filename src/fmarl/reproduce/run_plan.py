"""Which runs a reproduction needs.

Every figure and table names its experiments. Equal ones are run once, all of them on the first seed
before any on the second, and what depends on other runs waits for these.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from fmarl.engine.experiment import Experiment
from fmarl.errors import require_word
from fmarl.reproduce import paper
from fmarl.reproduce.bound_runs import BOUND_NAMES, bound_experiments, bound_sources
from fmarl.reproduce.methods import (
    Experiments,
    at_rate,
    baseline,
    federated_or_not,
    in_merge,
    on_seed,
    sample_run,
    table_methods,
)
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.results import Result, ResultsFolder
from fmarl.reproduce.study import Study
from fmarl.reproduce.tuning import not_yet_tuned, tuned_experiments, tuning_experiments

START_SECONDS = 2.0
"""Of one core: the process of the world; those that train are there already."""
STEP_SECONDS = {
    ("figure-eight", "ppo"): 1.2e-4,
    ("merge", "ppo"): 5e-4,
    ("merge", "trpo"): 5e-4,
    ("merge", "tac"): 7e-4,
}
"""Of one core per step of the world, learning included, as measured where this was written."""


@cache
def named_experiments(study: Study) -> Experiments:
    """All experiments of figures and tables, by name."""
    methods = table_methods(study)
    return {
        **methods,
        **federated_or_not(study),
        **in_merge(study),
        **{
            paper.rated(name, rate): at_rate(methods[name], rate)
            for name in paper.RATED
            for rate in paper.RATES
        },
        paper.SUMO: baseline(study),
        paper.MERGE_SUMO: baseline(study, "merge"),
    }


class Task(NamedTuple):
    """One run that is wanted."""

    name: str
    experiment: Experiment

    @property
    def key(self) -> str:
        return key_of(self.experiment)


def parts_of(word: str) -> list[str]:
    """The figures and tables that a word of the command line stands for."""
    require_word("part", word, [*paper.PARTS, "all"], "Use all.")
    return list(paper.PARTS) if word == "all" else [word]


def seeds_of(study: Study, name: str) -> range:
    """The seeds that are reported of a method."""
    length = study.length
    if name in BOUND_NAMES:
        return range(length.bound_seeds)
    return range(length.table_seeds if name in paper.TABLE_NAMES else length.seeds)


def planned(study: Study, parts: Iterable[str], results: Mapping[str, Result]) -> list[Task]:
    """Every run that these parts need, each once, in the order in which they are best run.

    With all parts come the runs about the bounds, and those in which each method has its own best
    η; which that is becomes known when the runs that choose it are there.
    """
    words = list(parts)
    known = named_experiments(study)
    tasks = [Task(name, known[name]) for word in words for name in paper.PARTS[word]]
    wanted = [Task("sample set", sample_run(study)), *_seeded(study, tasks)]
    if _is_all(words):
        wanted += _tasks(bound_sources(study))
        wanted += _seeded(study, _tasks(bound_experiments(study)))
        wanted += _tasks(tuning_experiments(study))
        wanted += _seeded(study, _tasks(tuned_experiments(study, results)))
    once: dict[str, Task] = {}
    for task in wanted:
        once.setdefault(task.key, task)
    return list(once.values())


def missing_tasks(
    study: Study, parts: Iterable[str], results: Mapping[str, Result], place: ResultsFolder
) -> list[Task]:
    """Runs without a result; and those again whose sample set is needed and not there."""
    tasks = planned(study, parts, results)
    missing = [task for task in tasks if task.key not in results]
    sources = {task.experiment.samples for task in missing}
    again = [
        task
        for task in tasks
        if task.key in sources and task.key in results and not place.has_samples(task.key)
    ]
    return again + missing


def still_to_run(
    study: Study, parts: Iterable[str], results: Mapping[str, Result], place: ResultsFolder
) -> list[Experiment]:
    """Every experiment that will be run from here to the end, as far as it can be foreseen."""
    words = list(parts)
    missing = [task.experiment for task in missing_tasks(study, words, results, place)]
    return missing + (not_yet_tuned(study, results) if _is_all(words) else [])


def _is_all(parts: Iterable[str]) -> bool:
    return set(parts) == set(paper.PARTS)


def _seeded(study: Study, tasks: list[Task]) -> list[Task]:
    """All tasks on the first seed, then all on the second: half of the work shows half of all."""
    most = max(study.length.seeds, study.length.table_seeds)
    return [
        Task(f"{task.name} seed {seed}", on_seed(task.experiment, seed))
        for seed in range(most)
        for task in tasks
        if seed in seeds_of(study, task.name)
    ]


def _tasks(experiments: Experiments) -> list[Task]:
    return [Task(name, experiment) for name, experiment in experiments.items()]


def core_seconds(experiment: Experiment) -> float:
    """What a run costs on one core, roughly.

    >>> round(core_seconds(Experiment(num_epochs=100, test_every=0)))
    20
    """
    tests = experiment.num_epochs // experiment.test_every + 1 if experiment.test_every else 0
    epochs = experiment.num_epochs + tests * experiment.test_repetitions
    cost = STEP_SECONDS[experiment.world, experiment.algorithm]
    return START_SECONDS + epochs * paper.EPOCH_STEPS * cost


def wall_seconds(experiments: Iterable[Experiment], cores: int) -> float:
    """What runs take together on so many cores, before it is known how fast these are."""
    return sum(map(core_seconds, experiments)) / cores
