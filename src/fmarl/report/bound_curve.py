"""A run's measured gradient norm against bounds: along its updates, and at its end.

The bound that speaks of what is measured is the one over synchronised iterates: the measured norms
are those of the averages, one per period, each of the same weight. The mean over θ̄_0 … θ̄_k is the
left side of the bound for a run of k + τ updates, so that is the bound at k. The constants are
estimates from the same run (`engine.constants`): this tests the theory, it forecasts nothing.

No matplotlib and no JAX: the live page uses this too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fmarl.errors import BadInput, require
from fmarl.federation.method_theory import plan_of, why_unbounded
from fmarl.federation.run_labels import PLAIN_DESCENT
from fmarl.records.run_folder import RunFolder
from fmarl.report.run_reader import Line, RecordedRun, sealed_facts
from fmarl.theory import Plan, Problem
from fmarl.theory.catalogue import BOUNDS, claimed_bound

CORRECTED = BOUNDS["synchronised"]
CONSTANTS = (
    "smoothness",
    "gradient_noise",
    "noise_correlation",
    "initial_gap",
    "initial_gradient_norm",
)
"""What a `Problem` needs of `constants.json`; beside them it has `final_gradient_norm`."""


class NormCurve(NamedTuple):
    """‖∇F(θ̄)‖² as a run measured it; the first point is before anything was learned."""

    updates: Int[np.ndarray, " point"]
    """k of the newest average."""
    norms: Float[np.ndarray, " point"]
    """Mean over the averages since the last point."""
    means: Float[np.ndarray, " point"]
    """Mean over all averages θ̄_0 … θ̄_k."""
    is_whole: bool
    """Whether no average is missing, as one is whose norm was not finite."""


@dataclass(frozen=True, kw_only=True)
class BoundCurve:
    """The corrected bound along a run, and what was measured beside it."""

    updates: Int[np.ndarray, " point"]
    """k."""
    values: Float[np.ndarray, " point"]
    """What the mean over θ̄_0 … θ̄_k can be at most."""
    means: Float[np.ndarray, " point"]
    """What it was."""
    smoothness: float
    gradient_noise: float
    learning_rate: float
    largest_learning_rate: float
    """η up to which the bound is proved."""

    @property
    def is_proved(self) -> bool:
        """Whether the run's η is small enough for the proof."""
        return self.learning_rate <= self.largest_learning_rate

    @property
    def holds(self) -> bool:
        """Whether the measured mean was never above the bound."""
        return bool(np.all(self.means <= self.values))

    @property
    def text(self) -> str:
        """What there is to say of it, in one sentence."""
        verdict = "stays below" if self.holds else "goes above"
        rates = f"η = {self.learning_rate:.3g}, proved up to {self.largest_learning_rate:.3g}"
        proof = "" if self.is_proved else ", so nothing is proved here"
        return (
            f"The measured mean {verdict} the corrected bound (L = {self.smoothness:.3g}, "
            f"σ² = {self.gradient_noise:.3g}, estimated from this run; {rates}{proof})."
        )


def norm_curve(lines: Sequence[Line], sync_period: int = 1) -> NormCurve | None:
    """The measured norms of a run's metrics; None if it measured none.

    >>> start = {"kind": "start", "update_count": 0, "expected_gradient_norm": 9.0}
    >>> line = {"kind": "epoch", "update_count": 4, "gradient_norms_measured": 2}
    >>> norm_curve([start, {**line, "expected_gradient_norm": 3.0}], sync_period=2).means
    array([9., 5.])
    """
    known = [line for line in lines if line.get("expected_gradient_norm") is not None]
    if len(known) < 2 or known[0]["kind"] != "start":
        return None
    norms = np.array([line["expected_gradient_norm"] for line in known], float)
    counts = np.array([line.get("gradient_norms_measured", 1) for line in known])
    updates = np.array([line["update_count"] for line in known]) // sync_period * sync_period
    means = np.cumsum(norms * counts) / np.cumsum(counts)
    is_whole = bool(np.all(np.cumsum(counts) == 1 + updates // sync_period))
    return NormCurve(updates, norms, means, is_whole)


def read_constants(run: RecordedRun) -> dict[str, float] | None:
    """The constants that were estimated from a run and kept; None if there are none to use."""
    try:
        facts = sealed_facts(RunFolder(run.folder).constants)
    except BadInput:
        return None
    names = (*CONSTANTS, "final_gradient_norm")
    if facts is None or not all(isinstance(facts.get(name), float) for name in names):
        return None
    return {name: facts[name] for name in names}


def why_no_bound(run: RecordedRun) -> str:
    """Why the theory has nothing to say of a run; empty if it has."""
    method, flat = run.method, run.flat
    other = [
        f"{name} = {flat[name]}"
        for name, wanted in PLAIN_DESCENT.items()
        if flat.get(name, wanted) != wanted
    ]
    if other:
        return f"The bounds are about plain SGD, one step per slot; here {', '.join(other)}."
    if not flat.get("samples"):
        return "The gradient norm was not measured: that takes --samples."
    if not flat.get("sample_slots", 1):
        return "The run kept no slots (sample_slots = 0), so its noise is not known."
    if method is None:
        return "The run did not write down its method."
    if why := why_unbounded(method):
        return why
    return "" if run.finished else "Constants are estimated when a run has ended."


def bound_of(run: RecordedRun, constants: Mapping[str, float] | None = None) -> BoundCurve | str:
    """The bound along a run, or the reason why there is none.

    Without constants, those that lie in the run's folder are taken.
    """
    why = why_no_bound(run)
    if why or run.method is None:
        return why
    curve = norm_curve(run.lines, int(run.method.sync_period))
    if curve is None or not curve.is_whole:
        return "Some gradient norm is missing, so nothing can be held against the bound."
    constants = constants or read_constants(run)
    if constants is None:
        return "Its constants have not been estimated yet: fmarl report does that."
    try:
        return bound_curve(constants, plan_of(run.method, run.total_updates), curve)
    except BadInput as problem:  # such as a loss so flat that L is zero
        return f"Its constants can not be used: {problem}"


def bound_curve(constants: Mapping[str, float], plan: Plan, curve: NormCurve) -> BoundCurve:
    """Hold measured norms against the bound for the run's plan, at each of their points.

    Paper: Eqs. (10) and (12).  ψ1 = mean ‖∇F(θ̄)‖² ≤ bound
    Differs from the paper: over synchronised iterates, with the corrected bound and its condition.
    """
    problem = _problem(constants)
    updates, means = _within_the_run(curve, plan, constants["final_gradient_norm"])
    at_points = replace(plan, total_updates=(updates + plan.sync_period).astype(float))
    found = CORRECTED.bound(problem, at_points).total
    return BoundCurve(
        updates=updates,
        values=np.broadcast_to(np.asarray(found, float), updates.shape),
        means=means,
        smoothness=constants["smoothness"],
        gradient_noise=constants["gradient_noise"],
        learning_rate=float(plan.learning_rate),
        largest_learning_rate=float(CORRECTED.largest_learning_rate(problem, plan)),
    )


def _within_the_run(
    curve: NormCurve, plan: Plan, final_norm: float
) -> tuple[Int[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """Points whose bound is for at most K updates: the gap is only known to where the run ended.

    So the last average does not count. Without it, the mean of all others is a point too.
    """
    period, total = plan.sync_period, int(plan.total_updates)
    early = curve.updates + period <= total
    updates, means = curve.updates[early], curve.means[early]
    last = total - period
    if total % period or curve.updates[-1] != total or last in updates:
        return updates, means
    averages = total // period
    without_last = (curve.means[-1] * (averages + 1) - final_norm) / averages
    return np.append(updates, last), np.append(means, without_last)


class BoundAtEnd(NamedTuple):
    """A whole run's measured norm, beside the bound that is proved and the one that is printed.

    A norm above the corrected bound, where its condition holds, says that the run broke an
    assumption, such as that successive slots err independently.
    """

    gradient_norm: float
    """ψ1 as measured: mean of ‖∇F(θ̄)‖² over θ̄_0, θ̄_τ, … θ̄_{K−τ}."""
    corrected: float
    """Over the synchronised iterates."""
    is_proved: bool
    """Whether η is small enough for the corrected bound's proof."""
    printed: float
    """What the paper claims for such a plan; it knows no correlated noise."""
    is_claimed: bool
    """Whether the paper claims it at this η, by Eq. (14)."""


def bound_at_end(constants: Mapping[str, float], plan: Plan, gradient_norm: float) -> BoundAtEnd:
    """Hold a run's ψ1, as `utility_row` has it, against the bounds for its plan.

    Paper: Eqs. (10), (14) and (12).  ψ1 = mean ‖∇F(θ̄)‖² ≤ bound, where η meets (14)
    Differs from the paper: over synchronised iterates, with the corrected bound and its condition.
    """
    problem, printed, rate = _problem(constants), BOUNDS[claimed_bound(plan)], plan.learning_rate
    return BoundAtEnd(
        gradient_norm=_from_the_start(constants, plan, gradient_norm),
        corrected=float(CORRECTED.bound(problem, plan).total),
        is_proved=bool(rate <= CORRECTED.largest_learning_rate(problem, plan)),
        printed=float(printed.bound(problem, plan).total),
        is_claimed=bool(rate <= printed.largest_learning_rate(problem, plan)),
    )


def _from_the_start(constants: Mapping[str, float], plan: Plan, gradient_norm: float) -> float:
    """Runs measure θ̄_τ … θ̄_K, the bound is about θ̄_0 … θ̄_{K−τ}: change the last for the first."""
    period, updates = plan.sync_period, float(plan.total_updates)
    require(
        updates % period == 0,
        f"{updates:g} updates in periods of {period}",
        "whole periods, for a bound is about these",
        "Train for a multiple of the sync period.",
    )
    exchanged = constants["initial_gradient_norm"] - constants["final_gradient_norm"]
    return gradient_norm + exchanged * period / updates


def _problem(constants: Mapping[str, float]) -> Problem:
    return Problem(**{name: constants[name] for name in CONSTANTS})
