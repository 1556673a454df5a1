"""How good groups of repetitions are, and one group against another on the seeds that both have."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fmarl.report.run_reader import COUNTS, RecordedRun
from fmarl.report.run_scores import (
    area,
    as_calculated,
    cost_of,
    endings,
    epochs_to_baseline,
    final,
    last_counts,
    utility_row,
)
from fmarl.report.run_set import Group
from fmarl.report.statistics import (
    FEWEST,
    UNKNOWN,
    Interval,
    mean_interval,
    probability_of_improvement,
    seed_interval,
)


class CountRange(NamedTuple):
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
    counts: dict[str, CountRange]
    """Uploads, updates, exchanges and mixings so far."""
    bytes_sent: CountRange
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
    rows = [found for run in group.runs if (found := utility_row(run.lines))]
    ends = [endings(run) for run in group.runs]
    return GroupScores(
        group=group,
        final=seed_interval([final(run) for run in group.runs]),
        area=seed_interval([area(run) for run in group.runs]),
        reached=_reached([epochs_to_baseline(run) for run in group.runs]),
        ended_early=sum(early for early, _ in ends),
        test_epochs=sum(played for _, played in ends),
        counts={name: _range([line[name] for line in last]) for name in COUNTS},
        bytes_sent=_range([line["bytes_sent"] for line in last]),
        agrees=_all_agree([as_calculated(run) for run in group.runs]),
        cost=seed_interval([cost_of(line) for line in last]),
        gradient_norm=seed_interval([row.gradient_norm for row in rows]),
        initial_gradient_norm=seed_interval([row.initial_gradient_norm for row in rows]),
        utility=seed_interval([row.utility for row in rows]),
    )


def _range(values: Sequence[int]) -> CountRange:
    return CountRange(min(values), max(values))


def _reached(epochs: Sequence[float]) -> Reached | None:
    known = sorted(value for value in epochs if not math.isnan(value))
    if not known:
        return None
    median = known[len(known) // 2]  # of two middles the upper: half had come there, at least
    return Reached(median, sum(map(math.isfinite, known)), len(known))


def _all_agree(verdicts: Sequence[bool | None]) -> bool | None:
    known = [verdict for verdict in verdicts if verdict is not None]
    return all(known) if known else None


class GroupComparison(NamedTuple):
    """A group minus the one it is compared with: paired, for the same seeds share their chance."""

    group: Group
    reference: Group
    seeds: list[int]
    """That both have, in runs that have ended and were tested."""
    final: Interval
    """Difference of the test rewards at the end; ends only from three seeds on."""
    area: Interval
    """Difference of the mean heights of the curves."""
    chance: Interval
    """How often a run of the group ends higher than one of the reference; ties count half."""

    @property
    def enough(self) -> bool:
        return len(self.seeds) >= FEWEST


def compare(group: Group, reference: Group) -> GroupComparison:
    """Hold a group against another, seed by seed."""
    ours, theirs = (_by_seed(one, final) for one in (group, reference))
    seeds = sorted(ours.keys() & theirs.keys())
    our_finals, their_finals = ([side[seed] for seed in seeds] for side in (ours, theirs))
    chance = probability_of_improvement(our_finals, their_finals) if seeds else UNKNOWN
    return GroupComparison(
        group=group,
        reference=reference,
        seeds=seeds,
        final=_difference(ours, theirs),
        area=_difference(_by_seed(group, area), _by_seed(reference, area)),
        chance=_trusted(chance, len(seeds)),
    )


def _by_seed(group: Group, measure: Callable[[RecordedRun], float]) -> dict[int, float]:
    """Of runs that have ended: one that diverged counts, with what its last tests found."""
    ended = [run for run in group.runs if run.finished or run.state == "diverged"]
    found = {run.seed: measure(run) for run in ended}
    return {seed: value for seed, value in found.items() if not math.isnan(value)}


def _difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Interval:
    differences = [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
    found = mean_interval(differences) if differences else UNKNOWN
    return _trusted(found, len(differences))


def _trusted(found: Interval, seeds: int) -> Interval:
    return found if seeds >= FEWEST else UNKNOWN._replace(value=found.value)
