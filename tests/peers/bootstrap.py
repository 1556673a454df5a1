"""The interquartile mean and the bootstrap of Agarwal et al. 2021, for comparisons with peers."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from fmarl.errors import require
from fmarl.report.statistics import Interval, resampled, sample_of

USE_ORDER = "Use probability_of_improvement: it needs only the order, so inf may meet inf."


def iqm(values: Sequence[float]) -> float:
    """Interquartile mean: a quarter of the values, rounded down, is cut off at either end.

    Up to three values nothing is cut. Infinite values do no harm where they are cut off; one that
    stays makes the mean infinite.

    >>> iqm([0.0, 2.0, 4.0, math.inf])
    3.0
    """
    return float(_middle_mean(_averageable(sorted(values))))


def bootstrap_interval(
    values: Sequence[float], statistic: Literal["mean", "iqm"] = "mean", confidence: float = 0.95
) -> Interval:
    """Percentile interval from resampled seeds; its ends are not numbers for a single one.

    Few seeds promise too much. Simulated, 95 % intervals of the interquartile mean hold the truth
    in 73-75 % of cases with 3 seeds, 90-92 % with 5 and 93-94 % with 10; those of the mean of
    normal values in 75 %, 84 % and 90 %, where `mean_interval` keeps its word.

    Infinite values, as of runs that never reach a level, count as what they are: a mean with one
    is infinite, and so is an end if that many resamples are.

    >>> bootstrap_interval([1.0, 2.0, 6.0])  # of three, the ends are the extremes
    Interval(value=3.0, low=1.0, high=6.0)
    """
    return resampled(STATISTICS[statistic], confidence, _averageable(sorted(values)))


def _middle_mean(values: Float[np.ndarray, "*resample seed"], axis: int = -1) -> Any:
    from scipy.stats import trim_mean

    return trim_mean(values, 0.25, axis=axis)


STATISTICS: dict[str, Callable[..., Any]] = {"mean": np.mean, "iqm": _middle_mean}


def _averageable(values: Sequence[float]) -> Float[np.ndarray, " seed"]:
    """Values that have a mean, if an infinite one: a sum is nan for nan and for inf − inf."""
    strange = [value for value in values if not math.isfinite(value)]
    allowed = "values with a mean: no nan, not inf beside -inf"
    require(not math.isnan(sum(values)), f"a mean of {strange}", allowed, USE_ORDER)
    return sample_of(values)
