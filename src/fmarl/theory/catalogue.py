"""All bounds in one place: what each is called, whose it is, and how large a step it allows."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from fmarl.theory import corrected_bounds as corrected
from fmarl.theory import learning_rate
from fmarl.theory import printed_bounds as printed
from fmarl.theory.bound import Bound
from fmarl.theory.plan import Plan
from fmarl.theory.problem import Problem, Real


class BoundEntry(NamedTuple):
    """A bound, the largest learning rate it holds for, and what kind of average it is about."""

    form: Literal["printed", "corrected"]
    bound: Callable[[Problem, Plan], Bound]
    largest_learning_rate: Callable[[Problem, Plan], Real]
    average: str


_STEP = learning_rate.largest_learning_rate

BOUNDS: dict[str, BoundEntry] = {
    "periodic": BoundEntry("printed", printed.periodic_bound, _STEP, "all updates"),
    "variation": BoundEntry("printed", printed.variation_bound, _STEP, "all updates"),
    "decay": BoundEntry("printed", printed.decay_bound, _STEP, "all updates"),
    "consensus": BoundEntry("printed", printed.consensus_bound, _STEP, "all updates"),
    "weighted": BoundEntry(
        "corrected",
        corrected.weighted_bound,
        learning_rate.largest_weighted_learning_rate,
        "updates, weighted by a_y D_y",
    ),
    "sharp": BoundEntry(
        "corrected",
        corrected.sharp_bound,
        learning_rate.largest_weighted_learning_rate,
        "updates, weighted by a_y D_y",
    ),
    "synchronised": BoundEntry(
        "corrected",
        corrected.synchronised_bound,
        learning_rate.largest_synchronised_learning_rate,
        "synchronised iterates",
    ),
    "normalised": BoundEntry(
        "corrected",
        corrected.normalised_bound,
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
