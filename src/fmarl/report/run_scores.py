"""How good runs are, in numbers: of one run, and of a group of repetitions with their spread."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fmarl.report.run_reader import COUNTS, Line, RecordedRun
from fmarl.report.run_set import Group
from fmarl.report.seed_interval import spread
from fmarl.report.statistics import Interval, area_under_curve, time_to_level
from fmarl.report.utility_row import cost_of, measured
from fmarl.worlds.registry import FAMILIES, ROADS

LAST_SHARE = 0.1
"""Of the tests: those that count as the end of a run. No maximum over time is ever taken."""


class LearningCurve(NamedTuple):
    """What the tests of a run found."""

    epochs: Int[np.ndarray, " test"]
    rewards: Float[np.ndarray, " test"]
    bytes_sent: Int[np.ndarray, " test"]
    """By all agents together until then."""


def measure_of(run: RecordedRun) -> str:
    """What the tests of such a run measure."""
    return measure_in(str(run.settings.get("world", "")))


def measure_in(world: str) -> str:
    """What the tests of runs in a world measure.

    On roads it is the normalised average speed. In games of others a step's reward says little
    (in CartPole it is always 1), so there it is what an episode brings, mean over the agents.

    >>> measure_in("merge"), measure_in("gym:CartPole-v1"), measure_in("toy-bumpy")
    ('NAS', 'return', 'reward')
    """
    if world in ROADS:
        return "NAS"
    return "return" if world.partition(":")[0] in FAMILIES else "reward"


def learning_curve(run: RecordedRun) -> LearningCurve:
    """The tests that found a number."""
    sent = {line["epoch"]: line["bytes_sent"] for line in run.of_kind("epoch")}
    measure = measure_of(run)
    found = [(line["epoch"], found_in(line, measure)) for line in run.of_kind("test")]
    known = [(epoch, value) for epoch, value in found if not math.isnan(value)]
    return LearningCurve(
        np.array([epoch for epoch, _ in known], int),
        np.array([value for _, value in known], float),
        np.array([sent.get(epoch, 0) for epoch, _ in known], int),
    )


def found_in(line: Line, measure: str) -> float:
    """What a test found; not a number if nothing."""
    if measure != "return":
        return math.nan if line.get("mean") is None else float(line["mean"])
    returns = [value for value in line.get("returns", []) if value is not None]
    return float(np.mean(returns)) if returns else math.nan


def final(run: RecordedRun) -> float:
    """Test reward at the end: mean of the last tenth of the tests, at least of one."""
    rewards = learning_curve(run).rewards
    count = max(round(LAST_SHARE * len(rewards)), 1)
    return float(rewards[-count:].mean()) if len(rewards) else math.nan


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
    expected = run.method.expected(last["update_count"]) if run.method else None
    if expected is None:
        return None
    return all(last[name] == getattr(expected, name) for name in COUNTS)


def endings(run: RecordedRun) -> tuple[int, int]:
    """Test epochs that ended before their time, as by a collision, and all that were played."""
    ends = [bool(end) for line in run.of_kind("test") for end in line["crashed"]]
    return sum(ends), len(ends)


class Range(NamedTuple):
    """The least and the most of a count, over the runs of a group."""

    low: int
    high: int


class Reached(NamedTuple):
    """When runs came to a level."""

    median: float
    """Epochs; those that never came there count as later than all others."""
    runs: int
    """Those that came there."""
    of: int


class GroupScores(NamedTuple):
    """A row of the report's tables."""

    group: Group
    final: Interval
    area: Interval
    reached: Reached | None
    """SUMO's level; None where SUMO did not drive."""
    ended_early: int
    test_epochs: int
    counts: dict[str, Range]
    """Uploads, updates, exchanges and mixings so far."""
    bytes_sent: Range
    agrees: bool | None
    """Whether every run counted what the closed form says; None if there is none."""
    cost: Interval
    """ψ0."""
    gradient_norm: Interval
    """ψ1 as measured; not a number if no run was measured, like the next two."""
    initial_gradient_norm: Interval
    """ψ2."""
    utility: Interval


def score(group: Group) -> GroupScores:
    """Everything that is told of a group in numbers."""
    last = [last_counts(run) for run in group.runs]
    worth = [found for run in group.runs if (found := measured(run.lines))]
    ends = [endings(run) for run in group.runs]
    return GroupScores(
        group=group,
        final=_over(group, final),
        area=_over(group, area),
        reached=_reached([epochs_to_baseline(run) for run in group.runs]),
        ended_early=sum(early for early, _ in ends),
        test_epochs=sum(played for _, played in ends),
        counts={name: _range([line[name] for line in last]) for name in COUNTS},
        bytes_sent=_range([line["bytes_sent"] for line in last]),
        agrees=_all_agree([as_calculated(run) for run in group.runs]),
        cost=spread([cost_of(line) for line in last]),
        gradient_norm=spread([found.gradient_norm for found in worth]),
        initial_gradient_norm=spread([found.initial_gradient_norm for found in worth]),
        utility=spread([found.utility for found in worth]),
    )


def _over(group: Group, measure: Callable[[RecordedRun], float]) -> Interval:
    return spread([measure(run) for run in group.runs])


def _range(values: Sequence[int]) -> Range:
    return Range(min(values), max(values))


def _reached(epochs: Sequence[float]) -> Reached | None:
    known = sorted(value for value in epochs if not math.isnan(value))
    if not known:
        return None
    # The upper of two middles: half of the runs had come there by then, at least.
    median = known[(len(known) - 1) // 2] if len(known) % 2 else known[len(known) // 2]
    return Reached(median, sum(map(math.isfinite, known)), len(known))


def _all_agree(verdicts: Sequence[bool | None]) -> bool | None:
    known = [verdict for verdict in verdicts if verdict is not None]
    return all(known) if known else None
