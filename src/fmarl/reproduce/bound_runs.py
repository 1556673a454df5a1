"""Runs that the bounds speak of: plain SGD, one pass over each batch, constants from the run.

The theory is about θ ← θ − η g with g a noisy gradient of one loss. With Adam or several passes the
step is something else, so claim 15 has runs of its own. Each η has its own sample set, from a run
with τ = 1 under the same optimiser.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine.experiment import Experiment
from fmarl.federation.recipes import make_from_config
from fmarl.reproduce import paper
from fmarl.reproduce.bound_check import BoundCheck, check_bound
from fmarl.reproduce.methods import (
    CONSENSUS,
    DECAY_92,
    TAU_1,
    TAU_1_15,
    TAU_15,
    Experiments,
    at_rate,
    on_seed,
    table_methods,
)
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.study import Study
from fmarl.theory import count_updates

BOUND_METHODS = (TAU_1, TAU_15, TAU_1_15, DECAY_92, CONSENSUS)
BOUND_RATES = (1e-4, 1e-3, 1e-2)
"""The paper's η, the largest round one at which the bounds are proved for all methods, and one with
which plain SGD learns."""


def bound_name(method: str, rate: float) -> str:
    """How such a run is called.

    >>> bound_name("FIRL τ=1", 1e-3)
    'SGD FIRL τ=1 η=0.001'
    """
    return f"SGD {method} η={rate:g}"


BOUND_NAMES = {
    bound_name(method, rate): (method, rate) for rate in BOUND_RATES for method in BOUND_METHODS
}
"""All methods at all rates, by name."""


def bound_experiments(study: Study) -> Experiments:
    """The runs whose bounds are checked."""
    return {name: _measured(study, *what) for name, what in BOUND_NAMES.items()}


def bound_sources(study: Study) -> Experiments:
    """The runs that make their sample sets."""
    return {f"SGD sample set η={rate:g}": _source(study, rate) for rate in BOUND_RATES}


def bound_facts(experiment: Experiment, folder: Path, gradient_norm: float) -> dict[str, Any]:
    """What is kept of such a run: its constants, its bounds, and whether they are proved there."""
    from fmarl.engine.estimate_constants import estimate_constants

    constants = estimate_constants(folder)
    found = check_bound(constants, _plan(experiment), gradient_norm)
    return {"constants": constants._asdict(), **_facts(found)}


def is_bound_run(experiment: Experiment) -> bool:
    """Whether the theory speaks of a run, and the run has what its constants come from."""
    is_plain = experiment.agent.optimiser == "sgd" and experiment.ppo.passes == 1
    return is_plain and bool(experiment.samples) and experiment.sample_slots > 0


def bound_margin(facts: Mapping[str, Any]) -> float:
    """Logarithm of corrected bound over measured norm; not a number where nothing is proved."""
    found = facts.get("bound")
    if not found or not found["is_proved"]:
        return math.nan
    return math.log(found["corrected"] / found["gradient_norm"])


def _facts(found: BoundCheck) -> dict[str, Any]:
    return {
        "gradient_norm": found.gradient_norm,
        "corrected": float(found.corrected.total),
        "is_proved": found.condition_holds,
        "printed": float(found.printed.total),
        "is_claimed": found.printed_condition_holds,
    }


def _measured(study: Study, method: str, rate: float) -> Experiment:
    source = key_of(_source(study, rate))
    return replace(_plain(study, method, rate), samples=source)


def _source(study: Study, rate: float) -> Experiment:
    return on_seed(_plain(study, TAU_1, rate), study.choices.sample_seed)


def _plain(study: Study, method: str, rate: float) -> Experiment:
    experiment = at_rate(table_methods(study)[method], rate)
    return replace(
        experiment,
        agent=replace(experiment.agent, optimiser="sgd"),
        ppo=PPOConfig(passes=1, normalise_advantages=experiment.ppo.normalise_advantages),
        num_epochs=study.length.tuned_epochs,
        samples="",
        sample_slots=Experiment.sample_slots,
    )


def _plan(experiment: Experiment) -> Any:
    method = make_from_config(experiment.together, paper.NUM_AGENTS, periods=1, seed=0)
    return method.plan(
        count_updates(
            num_epochs=experiment.num_epochs,
            epoch_steps=paper.EPOCH_STEPS,
            steps_per_update=experiment.steps_per_update,
        )
    )
