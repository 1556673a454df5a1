"""Runs that the bounds speak of, and the part of the report about them.

The theory is about θ ← θ − η g with g a noisy gradient of one loss. With Adam or several passes the
step is something else, so claim 15 has runs of its own. Each η has its own sample set, from a run
with τ = 1 under the same optimiser.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine.experiment import Experiment
from fmarl.federation.method_theory import plan_of
from fmarl.federation.recipes import make_from_config
from fmarl.report.bound_curve import bound_at_end
from fmarl.report.format import mean_number, with_interval
from fmarl.report.page import Paragraph, Section, table_of
from fmarl.report.statistics import seed_interval
from fmarl.reproduce import paper
from fmarl.reproduce.methods import Experiments, at_rate, on_seed, table_methods
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.study import Study
from fmarl.theory import Plan, count_updates

if TYPE_CHECKING:
    from fmarl.reproduce.study_results import Evidence

BOUND_METHODS = (paper.TAU_1, paper.TAU_15, paper.TAU_1_15, paper.DECAY_92, paper.CONSENSUS)
BOUND_RATES = (1e-4, 1e-3, 1e-2)
"""The paper's η, the largest round one at which the bounds are proved for all methods, and one with
which plain SGD learns."""

ABOUT = (
    "Plain SGD, one pass over each batch: then the step is the gradient that the theory speaks of. "
    "L is the largest stretch of ∇F on the way from the first to the last average, σ² the mean "
    "squared distance of agents' gradients from ∇F, F(θ̄_0) − F_inf the drop that the run itself "
    "made: all err on the strict side. The corrected bound is the one over synchronised averages. "
    "“Proved” says in how many seeds η is small enough for it; “claimed” the same for the paper's "
    "own bound by its Eq. (14)."
)


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
    return {
        name: replace(_plain(study, method, rate), samples=key_of(_source(study, rate)))
        for name, (method, rate) in BOUND_NAMES.items()
    }


def bound_sources(study: Study) -> Experiments:
    """The runs that make their sample sets."""
    return {f"SGD sample set η={rate:g}": _source(study, rate) for rate in BOUND_RATES}


def bound_facts(experiment: Experiment, folder: Path, gradient_norm: float) -> dict[str, Any]:
    """What is kept of such a run: its constants, its bounds, and whether they are proved there."""
    from fmarl.engine.estimate_constants import estimate_constants

    constants = estimate_constants(folder)._asdict()
    found = bound_at_end(constants, _plan(experiment), gradient_norm)
    return {"constants": constants, **found._asdict()}


def is_bound_run(experiment: Experiment) -> bool:
    """Whether the theory speaks of a run, and the run has what its constants come from."""
    is_plain = experiment.agent.optimiser == "sgd" and experiment.ppo.passes == 1
    return is_plain and bool(experiment.samples) and experiment.sample_slots > 0


def _source(study: Study, rate: float) -> Experiment:
    return on_seed(_plain(study, paper.TAU_1, rate), study.choices.sample_seed)


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


def _plan(experiment: Experiment) -> Plan:
    method = make_from_config(experiment.together, paper.NUM_AGENTS, periods=1, seed=0)
    total_updates = count_updates(
        num_epochs=experiment.num_epochs,
        epoch_steps=paper.EPOCH_STEPS,
        steps_per_update=experiment.steps_per_update,
    )
    return plan_of(method, total_updates)


def bound_section(evidence: "Evidence") -> Section:
    """One row for each method and rate that has runs; one that failed has no constants."""
    found = {
        name: [one.facts["bound"] for one in evidence.runs(name).values() if not one.failed]
        for name in BOUND_NAMES
    }
    ends = {name: list(evidence.scores(name, "final").values()) for name in BOUND_NAMES}
    table = table_of(
        {
            "run": lambda name: name,
            "L": lambda name: mean_number([one["constants"]["smoothness"] for one in found[name]]),
            "σ²": lambda name: mean_number(
                [one["constants"]["gradient_noise"] for one in found[name]]
            ),
            "measured": lambda name: mean_number([one["gradient_norm"] for one in found[name]]),
            "corrected bound": lambda name: mean_number([one["corrected"] for one in found[name]]),
            "proved": lambda name: _count(found[name], "is_proved"),
            "measured / corrected": lambda name: _ratio(found[name], "corrected"),
            "printed bound": lambda name: mean_number([one["printed"] for one in found[name]]),
            "claimed": lambda name: _count(found[name], "is_claimed"),
            "measured / printed": lambda name: _ratio(found[name], "printed"),
            "NAS at the end": lambda name: mean_number(ends[name]),
        },
        [name for name in BOUND_NAMES if found[name]],
        "Ratios above 1 break the bound; [95 % intervals over seeds].",
        "lrrrrlrrlrr",
    )
    return Section("Bounds: measured, proved, printed", "bounds", [Paragraph(ABOUT), table])


def _count(found: Sequence[dict[str, Any]], word: str) -> str:
    return f"{sum(one[word] for one in found)} of {len(found)}"


def _ratio(found: Sequence[dict[str, Any]], bound: str) -> str:
    ratios = [one["gradient_norm"] / one[bound] for one in found]
    return with_interval(seed_interval(ratios))
