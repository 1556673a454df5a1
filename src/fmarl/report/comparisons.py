"""One group against another on the seeds that both have: paired, for these share their chance."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fmarl.report.run_reader import RecordedRun
from fmarl.report.run_scores import area, final
from fmarl.report.run_set import Group, reference_of
from fmarl.report.seed_interval import FEWEST, UNKNOWN
from fmarl.report.statistics import Interval, mean_interval, probability_of_improvement


class Comparison(NamedTuple):
    """A group minus the one it is compared with."""

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
        """Whether there are seeds enough for an interval."""
        return len(self.seeds) >= FEWEST


def compare_all(groups: Sequence[Group], against: str) -> list[Comparison]:
    """Every group of a scene against the one that is named, or the first."""
    reference = reference_of(groups, against)
    return [compare(group, reference) for group in groups if group is not reference]


def compare(group: Group, reference: Group) -> Comparison:
    """Hold a group against another, seed by seed."""
    ours, theirs = (_by_seed(one, final) for one in (group, reference))
    seeds = sorted(ours.keys() & theirs.keys())
    chance = (
        probability_of_improvement([ours[one] for one in seeds], [theirs[one] for one in seeds])
        if seeds
        else UNKNOWN
    )
    return Comparison(
        group=group,
        reference=reference,
        seeds=seeds,
        final=_difference(ours, theirs),
        area=_difference(_by_seed(group, area), _by_seed(reference, area)),
        chance=chance if len(seeds) >= FEWEST else UNKNOWN._replace(value=chance.value),
    )


def _by_seed(group: Group, measure: Callable[[RecordedRun], float]) -> dict[int, float]:
    """Of runs that have ended: one that diverged counts, with what its last tests found."""
    ended = [run for run in group.runs if run.finished or run.state == "diverged"]
    found = {run.seed: measure(run) for run in ended}
    return {seed: value for seed, value in found.items() if not math.isnan(value)}


def _difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Interval:
    """Student's interval of the mean difference, which also few seeds can be trusted with."""
    differences = [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
    if not differences:
        return UNKNOWN
    found = mean_interval(differences)
    return found if len(differences) >= FEWEST else UNKNOWN._replace(value=found.value)
