"""The rule by which runs decide the paper's claims, fixed before them.

A comparison is supported if the whole 95 % interval of the paired difference lies on the claimed
side and the difference is not negligible; not supported if the whole interval lies below what is
negligible; else undecided. With fewer than five common seeds nothing is decided. A claim is
supported if all its comparisons are, and not supported if one of them is not.

The interval is Student's, which keeps its promise for few seeds: the bootstrap's would hold the
truth in 84 % of cases with five seeds, not in 95 % (tests/unit/report/test_statistics.py).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from fmarl.report.page import VerdictWord
from fmarl.report.statistics import (
    UNKNOWN,
    Interval,
    mean_interval,
    probability_of_improvement,
)
from fmarl.reproduce.measures import MEASURES

NoVerdict = Literal["not run yet", "it is about η itself"]
"""What stands where a claim has no verdict."""

LEAST_SEEDS = 5
WORST_FIRST: dict[VerdictWord, int] = {"not supported": 0, "undecided": 1, "supported": 2}


class Comparison(NamedTuple):
    """One method is said to beat another, by one measure."""

    better: str
    worse: str
    measure: str


class Claim(NamedTuple):
    """Something that is said of methods."""

    number: int
    says: str
    where: str
    comparisons: tuple[Comparison, ...]
    is_about_rates: bool = False
    """Then it can not be decided again with each method at its own best η."""


class Verdict(NamedTuple):
    """What the runs say to a comparison."""

    comparison: Comparison
    word: VerdictWord
    effect: Interval
    """Mean difference in the claimed direction: positive is as claimed."""
    scores: tuple[list[float], list[float]]
    """Of the better one and of the other, by seed; more is better."""
    seeds: int
    """On which both have a number."""
    was_run: bool
    """Whether both were run; a run may be too short for a number, or have no bound."""

    @property
    def improvement(self) -> Interval:
        """Probability that a run of the better one beats a run of the other."""
        return probability_of_improvement(*self.scores) if self.seeds else UNKNOWN


Scores = Callable[[str, str], Mapping[int, float]]
"""From a method's name and a measure to one number per seed."""


def decide(comparison: Comparison, scores: Scores) -> Verdict:
    """Hold a comparison against the runs that are there."""
    measure = MEASURES[comparison.measure]
    found = [scores(name, comparison.measure) for name in (comparison.better, comparison.worse)]
    was_run = all(found)
    ours, theirs = (_signed(numbers, measure.sign) for numbers in found)
    shared = sorted(ours.keys() & theirs.keys())
    effect = mean_interval([ours[seed] - theirs[seed] for seed in shared]) if shared else UNKNOWN
    word = verdict_of(effect, measure.negligible, len(shared))
    both = (list(ours.values()), list(theirs.values()))
    return Verdict(comparison, word, effect, both, len(shared), was_run)


def verdict_of(effect: Interval, negligible: float, seeds: int) -> VerdictWord:
    """The rule at the top of this file.

    >>> verdict_of(Interval(0.02, 0.01, 0.03), negligible=0.005, seeds=5)
    'supported'
    >>> verdict_of(Interval(0.001, -0.001, 0.003), negligible=0.005, seeds=5)
    'not supported'
    """
    if seeds < LEAST_SEEDS:
        return "undecided"
    if effect.low > 0 and effect.value >= negligible:
        return "supported"
    return "not supported" if effect.high < negligible else "undecided"


def together(verdicts: Sequence[Verdict]) -> VerdictWord | NoVerdict:
    """What verdicts on its comparisons make of a claim."""
    words = {verdict.word for verdict in verdicts}
    if not words:
        return "it is about η itself"
    if "not supported" in words:
        return "not supported"
    if not all(verdict.was_run for verdict in verdicts):
        return "not run yet"
    return "supported" if words == {"supported"} else "undecided"


def weakest(verdicts: Sequence[Verdict]) -> Verdict:
    """The comparison that speaks most against a claim: the worst of those that decide it."""
    known = [verdict for verdict in verdicts if verdict.seeds] or verdicts
    return min(known, key=lambda verdict: (WORST_FIRST[verdict.word], _in_negligibles(verdict)))


def _in_negligibles(verdict: Verdict) -> float:
    """An effect in units that all measures share."""
    return verdict.effect.value / MEASURES[verdict.comparison.measure].negligible


def _signed(values: Mapping[int, float], sign: int) -> dict[int, float]:
    """Numbers of which more is better, by seed; seeds without one are left out."""
    return {seed: sign * value for seed, value in values.items() if math.isfinite(value)}
