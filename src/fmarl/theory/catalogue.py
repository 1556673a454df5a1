"""All bounds in one place: what each is called, what it allows, and what it says of a plan."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from fmarl.theory import corrected_bounds as corrected
from fmarl.theory import learning_rate
from fmarl.theory import printed_bounds as printed
from fmarl.theory.cost import overheads, resource_cost, utility
from fmarl.theory.plan import Plan
from fmarl.theory.problem import Problem, Real


class BoundEntry(NamedTuple):
    """A bound, the largest learning rate it holds for, and what kind of average it is about."""

    bound: Callable[[Problem, Plan], printed.Bound]
    form: Literal["printed", "corrected"]
    largest_learning_rate: Callable[[Problem, Plan], Real]
    average: str


_PRINTED = ("printed", learning_rate.largest_learning_rate, "all updates")
_WEIGHTED = (
    "corrected",
    learning_rate.largest_weighted_learning_rate,
    "updates, weighted by a_y D_y",
)

BOUNDS: dict[str, BoundEntry] = {
    "periodic": BoundEntry(printed.periodic_bound, *_PRINTED),
    "variation": BoundEntry(printed.variation_bound, *_PRINTED),
    "decay": BoundEntry(printed.decay_bound, *_PRINTED),
    "consensus": BoundEntry(printed.consensus_bound, *_PRINTED),
    "weighted": BoundEntry(corrected.weighted_bound, *_WEIGHTED),
    "sharp": BoundEntry(corrected.sharp_bound, *_WEIGHTED),
    "synchronised": BoundEntry(
        corrected.synchronised_bound,
        "corrected",
        learning_rate.largest_synchronised_learning_rate,
        "synchronised iterates",
    ),
    "normalised": BoundEntry(
        corrected.normalised_bound,
        "corrected",
        learning_rate.largest_normalised_learning_rate,
        "updates, weighted by D_y, reports scaled by m/m_y",
    ),
}


def claimed_bound(plan: Plan) -> str:
    """Name of the printed bound that the paper would claim for this plan.

    For decay and consensus together the paper claims nothing; its consensus bound is shown.

    >>> from fmarl.theory.plan import make_plan
    >>> claimed_bound(make_plan(sync_period=15, num_agents=7))
    'periodic'
    """
    if plan.consensus_rounds:
        return "consensus"
    if np.any(plan.decay != 1):
        return "decay"
    return "variation" if np.any(plan.local_updates != plan.sync_period) else "periodic"


class BoundsResult(NamedTuple):
    """What is proved about a plan on a problem, what it costs, and what that is worth."""

    problem: Problem
    plan: Plan
    claimed: str
    """The printed bound that the paper would claim."""
    average_weight: float
    cost: float
    overheads: dict[str, float]
    bounds: dict[str, dict[str, float]]
    """Per bound: optimisation, noise, drift, total, largest_learning_rate, utility."""

    @property
    def largest_learning_rate(self) -> float:
        """What the claimed bound's condition allows, Eq. (14)."""
        return self.bounds[self.claimed]["largest_learning_rate"]


def evaluate_bounds(problem: Problem, plan: Plan) -> BoundsResult:
    """Every bound of one setting, with its terms, largest step and utility; and the cost."""
    with np.errstate(all="ignore"):  # absurd inputs give infinities, which tables show as such
        cost = float(resource_cost(problem, plan))
        return BoundsResult(
            problem=problem,
            plan=plan,
            claimed=claimed_bound(plan),
            average_weight=float(corrected.average_weight(plan)),
            cost=cost,
            overheads={name: float(count) for name, count in overheads(plan)._asdict().items()},
            bounds={name: _numbers(entry, problem, plan, cost) for name, entry in BOUNDS.items()},
        )


def _numbers(entry: BoundEntry, problem: Problem, plan: Plan, cost: float) -> dict[str, float]:
    terms = entry.bound(problem, plan)
    numbers = {
        **terms._asdict(),
        "total": terms.total,
        "largest_learning_rate": entry.largest_learning_rate(problem, plan),
        "utility": utility(problem.initial_gradient_norm, terms.total, cost),
    }
    return {name: float(value) for name, value in numbers.items()}
