"""Does a bound hold for a run? The measured gradient norm beside the bounds from its constants."""

from typing import NamedTuple

from fmarl.engine.estimate_constants import Constants
from fmarl.errors import require
from fmarl.theory import Bound, Plan
from fmarl.theory.catalogue import BOUNDS, claimed_bound

CORRECTED = "synchronised"
"""The bound that speaks of what is measured: the averages, one per period."""


class BoundCheck(NamedTuple):
    """A run's measured gradient norm, beside the bound that is proved and the one that is printed.

    The constants are estimates from the same run, so this is a test of the theory, not a forecast.
    A norm above the corrected bound, where its condition holds, says that the run broke an
    assumption, such as that successive slots err independently.
    """

    learning_rate: float
    """η of the run."""
    gradient_norm: float
    """ψ1 as measured: mean of ‖∇F(θ̄)‖² over θ̄_0, θ̄_τ, … θ̄_{K−τ}."""
    corrected: Bound
    """Over the synchronised iterates."""
    largest_learning_rate: float
    """η up to which the corrected bound is proved."""
    printed: Bound
    """What the paper claims for such a plan; it knows no correlated noise."""
    largest_printed_learning_rate: float
    """η up to which the paper claims it, Eq. (14)."""

    @property
    def condition_holds(self) -> bool:
        """Whether the corrected bound is proved at this learning rate."""
        return self.learning_rate <= self.largest_learning_rate

    @property
    def printed_condition_holds(self) -> bool:
        """Whether the paper claims its bound at this learning rate."""
        return self.learning_rate <= self.largest_printed_learning_rate

    @property
    def ratio(self) -> float:
        """Measured over corrected bound: at most 1 where its condition and assumptions hold."""
        return self.gradient_norm / float(self.corrected.total)

    @property
    def printed_ratio(self) -> float:
        """Measured over printed bound."""
        return self.gradient_norm / float(self.printed.total)


def check_bound(constants: Constants, plan: Plan, gradient_norm: float) -> BoundCheck:
    """Hold a run's ψ1, as `measured` has it, against the bounds for its plan.

    Paper: Eqs. (10), (14) and (12).  ψ1 = mean ‖∇F(θ̄)‖² ≤ bound, where η meets (14)
    Differs from the paper: over synchronised iterates, with the corrected bound and its condition.
    """
    problem = constants.problem
    corrected, printed = BOUNDS[CORRECTED], BOUNDS[claimed_bound(plan)]
    return BoundCheck(
        learning_rate=float(plan.learning_rate),
        gradient_norm=_from_the_start(constants, plan, gradient_norm),
        corrected=corrected.bound(problem, plan),
        largest_learning_rate=float(corrected.largest_learning_rate(problem, plan)),
        printed=printed.bound(problem, plan),
        largest_printed_learning_rate=float(printed.largest_learning_rate(problem, plan)),
    )


def _from_the_start(constants: Constants, plan: Plan, gradient_norm: float) -> float:
    """Runs measure θ̄_τ … θ̄_K, the bound is about θ̄_0 … θ̄_{K−τ}: change the last for the first."""
    period, updates = plan.sync_period, float(plan.total_updates)
    require(
        updates % period == 0,
        f"{updates:g} updates in periods of {period}",
        "whole periods, for a bound is about these",
        "Train for a multiple of the sync period.",
    )
    exchanged = constants.initial_gradient_norm - constants.final_gradient_norm
    return gradient_norm + exchanged * period / updates
