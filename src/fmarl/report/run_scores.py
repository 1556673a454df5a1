"""How good one run is, in numbers: its tests, its counts, and what it measured of its error."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fmarl.federation.method_theory import expected_overheads
from fmarl.records.score import measure_in, score_in
from fmarl.report.run_reader import COUNTS, Line, RecordedRun
from fmarl.report.statistics import area_under_curve, end_of_curve, time_to_level
from fmarl.theory import Problem, utility

PRICES = Problem(smoothness=1.0, gradient_noise=0.0)
"""C1, C2, W1 and W2 of the paper; the constants of the loss play no part here."""


class LearningCurve(NamedTuple):
    """What the tests of a run found."""

    epochs: Int[np.ndarray, " test"]
    rewards: Float[np.ndarray, " test"]
    bytes_sent: Int[np.ndarray, " test"]
    """By all agents together until then."""


def measure_of(run: RecordedRun) -> str:
    """What the tests of such a run measure."""
    return measure_in(_world(run))


def score_of(run: RecordedRun, test: Line) -> float:
    """What a test of a run found; not a number if nothing."""
    return score_in(test, _world(run))


def _world(run: RecordedRun) -> str:
    return str(run.settings.get("world", ""))


def learning_curve(run: RecordedRun) -> LearningCurve:
    """The tests that found a number."""
    sent = {line["epoch"]: line["bytes_sent"] for line in run.of_kind("epoch")}
    found = [(line["epoch"], score_of(run, line)) for line in run.of_kind("test")]
    known = [(epoch, value) for epoch, value in found if not math.isnan(value)]
    return LearningCurve(
        np.array([epoch for epoch, _ in known], int),
        np.array([value for _, value in known], float),
        np.array([sent.get(epoch, 0) for epoch, _ in known], int),
    )


def final(run: RecordedRun) -> float:
    """Test reward at the end: mean of the last tenth of the tests, at least of one."""
    return end_of_curve(learning_curve(run).rewards.tolist())


def area(run: RecordedRun) -> float:
    """Mean height of the curve of tests over the whole run; not a number for a single test."""
    curve = learning_curve(run)
    if len(curve.epochs) < 2:
        return math.nan
    return area_under_curve(curve.epochs.astype(float).tolist(), curve.rewards.tolist())


def baseline(run: RecordedRun) -> float:
    """What SUMO's own drivers reach in the same test epochs; not a number where they did not."""
    known = [line["mean"] for line in run.of_kind("baseline") if line.get("mean") is not None]
    return float(known[0]) if known else math.nan


def epochs_to_baseline(run: RecordedRun) -> float:
    """First test that is as good as SUMO's drivers; inf if none was, nan if they did not drive."""
    curve, level = learning_curve(run), baseline(run)
    if math.isnan(level) or not len(curve.epochs):
        return math.nan
    return time_to_level(curve.epochs.astype(float).tolist(), curve.rewards.tolist(), level)


def last_counts(run: RecordedRun) -> Line:
    """The newest line that has counted everything; all zero before there is one."""
    epochs = run.of_kind("epoch")
    nothing = {name: 0 for name in (*COUNTS, "bytes_sent", "update_count")}
    return epochs[-1] if epochs else nothing


def as_calculated(run: RecordedRun) -> bool | None:
    """Whether all that was counted equals the closed form; None if the method has none."""
    last = last_counts(run)
    expected = expected_overheads(run.method, last["update_count"]) if run.method else None
    if expected is None:
        return None
    return all(last[name] == getattr(expected, name) for name in COUNTS)


def endings(run: RecordedRun) -> tuple[int, int]:
    """Test epochs that ended before their time, as by a collision, and all that were played."""
    ends = [bool(end) for line in run.of_kind("test") for end in line["crashed"]]
    return sum(ends), len(ends)


class UtilityRow(NamedTuple):
    """The row that a run adds to a table like the paper's Table IV."""

    initial_gradient_norm: float
    """ψ2: ‖∇F(θ̄_0)‖² on the sample set."""
    gradient_norm: float
    """ψ1 as measured: the mean of ‖∇F(θ̄)‖² over all averages of the run."""
    cost: float
    """ψ0: everything that was counted, at the prices of the problem."""
    utility: float
    """Error removed per unit of cost; −inf if none was removed."""


def utility_row(lines: Sequence[Line]) -> UtilityRow | None:
    """What a run's metrics add up to; None if it was not measured on samples.

    Paper: Eqs. (10), (12) and (13).  ψ2 = ‖∇F(θ̄_0)‖²,  ψ1 = mean of ‖∇F(θ̄)‖²,  𝒰 = (ψ2 − ψ1)/ψ0

    >>> start = {"kind": "start", "expected_gradient_norm": 9.0}
    >>> epoch = {"kind": "epoch", "expected_gradient_norm": 4.0, "gradient_norms_measured": 2}
    >>> counts = {"uploads": 20, "updates": 0, "exchanges": 0, "mixings": 0}
    >>> utility_row([start, {**epoch, **counts}]).utility
    0.25
    """
    firsts = [line.get("expected_gradient_norm") for line in lines if line["kind"] == "start"]
    epochs = [line for line in lines if line["kind"] == "epoch"]
    with_norms = [line for line in epochs if "gradient_norms_measured" in line]
    if not with_norms or not firsts or firsts[0] is None:
        return None
    counts = [line["gradient_norms_measured"] for line in with_norms]
    total = sum(
        line["expected_gradient_norm"] * count
        for line, count in zip(with_norms, counts, strict=True)
    )
    first, mean = firsts[0], total / sum(counts)
    cost = cost_of(epochs[-1])
    return UtilityRow(first, mean, cost, float(utility(first, mean, cost)))


def cost_of(last: Line) -> float:
    """ψ0: what a line of metrics has counted, at its price.

    Paper: Eqs. (7) and (27).  ψ0 = C1·uploads + C2·updates + W1·exchanges + W2·mixings
    """
    return float(
        last["uploads"] * PRICES.upload_cost
        + last["updates"] * PRICES.update_cost
        + last["exchanges"] * PRICES.exchange_cost
        + last["mixings"] * PRICES.mixing_cost
    )
