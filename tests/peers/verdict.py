"""Whether we are worse: scores of both sides to estimates with intervals, and to a verdict.

Intervals are 95 % percentile bootstraps over seeds (Agarwal et al. 2021, "Deep reinforcement
learning at the edge of the statistical precipice").
"""

from collections.abc import Sequence
from typing import NamedTuple

from fmarl.report.statistics import Interval, bootstrap_interval, probability_of_improvement


class Verdict(NamedTuple):
    """How we compare on a task."""

    improvement: Interval
    """Probability that a run of ours scores higher than one of theirs; a tie counts half."""
    ours: Interval
    """Interquartile mean."""
    theirs: Interval
    required: float
    """What our interquartile mean must reach."""

    @property
    def passed(self) -> bool:
        """Whether nothing says that we are worse."""
        return self.improvement.high >= 0.5 and self.ours.value >= self.required


def judge(ours: Sequence[float], theirs: Sequence[float], solved: float | None) -> Verdict:
    """Compare the scores of all runs, failed ones included.

    >>> judge([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], solved=None).improvement.value
    0.5
    """
    improvement = probability_of_improvement(ours, theirs)
    our_middle, their_middle = (bootstrap_interval(side, "iqm") for side in (ours, theirs))
    required = their_middle.low if solved is None else solved
    return Verdict(improvement, our_middle, their_middle, required)
