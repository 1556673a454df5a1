"""A setting evaluated: its cost, and every bound with its terms, largest step and utility."""

import math
from dataclasses import dataclass

import numpy as np

from fmarl.cli.bounds_setting import Setting
from fmarl.theory import Plan, Problem, overheads, resource_cost, utility
from fmarl.theory import corrected_bounds as corrected
from fmarl.theory.catalogue import BOUNDS, claimed_bound


@dataclass(frozen=True, kw_only=True)
class BoundsResult:
    """Everything `fmarl bounds` says about one setting."""

    setting: Setting
    problem: Problem
    plan: Plan
    claimed: str
    """The printed bound that the paper would claim."""
    average_weight: float
    cost: float
    overheads: dict[str, float]
    bounds: dict[str, dict[str, float]]
    """Per bound: optimisation, noise, drift, total, largest_learning_rate, utility."""


def evaluate(setting: Setting) -> BoundsResult:
    """Check a setting and compute it all. Raises `BadInput` on the first thing that can not be."""
    problem, plan = setting.problem(), setting.plan()
    with np.errstate(all="ignore"):  # absurd inputs give infinities, which tables show as such
        cost = float(resource_cost(problem, plan))
        return BoundsResult(
            setting=setting,
            problem=problem,
            plan=plan,
            claimed=claimed_bound(plan),
            average_weight=float(corrected.average_weight(plan)),
            cost=cost,
            overheads={name: float(count) for name, count in overheads(plan)._asdict().items()},
            bounds={name: _bound(name, problem, plan, cost) for name in BOUNDS},
        )


def _bound(name: str, problem: Problem, plan: Plan, cost: float) -> dict[str, float]:
    entry = BOUNDS[name]
    terms = entry.bound(problem, plan)
    largest = entry.largest_learning_rate(problem, plan)
    worth = utility(problem.initial_gradient_norm, terms.total, cost)
    numbers = {
        **terms._asdict(),
        "total": terms.total,
        "largest_learning_rate": largest,
        "utility": worth,
    }
    return {key: float(value) for key, value in numbers.items()}


def step_problem(evaluation: BoundsResult) -> str | None:
    """What to say when the learning rate is too large for the printed condition (14)."""
    largest = evaluation.bounds[evaluation.claimed]["largest_learning_rate"]
    rate = float(evaluation.plan.learning_rate)
    if rate <= largest * (1 + 1e-12):
        return None
    # Round down: the suggested value must itself be admissible.
    digits = 3 - math.floor(math.log10(largest))
    suggestion = math.floor(largest * 10**digits) / 10**digits
    return (
        f"{evaluation.setting.title()}: learning_rate = {rate:g} violates Eq. (14), so no bound is "
        f"proved: at most {suggestion:g} for L = {float(evaluation.problem.smoothness):g} and "
        f"τ = {evaluation.plan.sync_period}. Lower it, or the sync period."
    )
