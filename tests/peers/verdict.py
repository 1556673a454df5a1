"""Whether we are worse: scores of both sides to estimates with intervals, and to a verdict.

Intervals are 95 % percentile bootstraps over seeds (Agarwal et al. 2021, "Deep reinforcement
learning at the edge of the statistical precipice").
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import bootstrap, trim_mean

RESAMPLES = 10_000


class Estimate(NamedTuple):
    """A number, and where it would lie with other seeds."""

    value: float
    low: float
    high: float


class Verdict(NamedTuple):
    """How we compare on a task."""

    improvement: Estimate
    """Probability that a run of ours scores higher than one of theirs; a tie counts half."""
    ours: Estimate
    """Interquartile mean."""
    theirs: Estimate
    required: float
    """What our interquartile mean must reach."""

    @property
    def passed(self) -> bool:
        """Whether nothing says that we are worse."""
        return self.improvement.high >= 0.5 and self.ours.value >= self.required


def judge(ours: Sequence[float], theirs: Sequence[float], solved: float | None) -> Verdict:
    """Compare the scores of all runs, failed ones included.

    >>> judge([1, 2, 3, 4], [1, 2, 3, 4], solved=None).improvement.value
    0.5
    """
    our_middle, their_middle = interquartile_mean(ours), interquartile_mean(theirs)
    required = their_middle.low if solved is None else solved
    return Verdict(improvement(ours, theirs), our_middle, their_middle, required)


def interquartile_mean(scores: Sequence[float]) -> Estimate:
    """Mean of the middle half.

    >>> interquartile_mean([0, 2, 4, 100]).value
    3.0
    """
    return _estimate(lambda sample, axis=-1: trim_mean(sample, 0.25, axis=axis), scores)


def improvement(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """How often the first of two runs, one of each side, scores higher; a tie counts half.

    >>> improvement([1, 3], [2, 3]).value
    0.375
    """
    return _estimate(_share_of_wins, ours, theirs)


def _share_of_wins(ours: np.ndarray, theirs: np.ndarray, axis: int = -1) -> np.ndarray:
    pairs = np.sign(ours[..., :, None] - theirs[..., None, :])
    return (pairs.mean(axis=(-2, -1)) + 1) / 2


def _estimate(statistic: Callable[..., Any], *samples: Sequence[float]) -> Estimate:
    arrays = [np.asarray(sample, float) for sample in samples]
    found = bootstrap(
        arrays, statistic, n_resamples=RESAMPLES, method="percentile", vectorized=True, rng=0
    ).confidence_interval
    return Estimate(float(statistic(*arrays)), float(found.low), float(found.high))
