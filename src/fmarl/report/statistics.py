"""Numbers with their uncertainty."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A mean and the interval that holds the true one 95 times in a hundred."""

    mean: float
    low: float
    high: float


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval for the mean of independent repetitions; not a number for a single one.

    >>> round(mean_interval([1.0, 2.0, 3.0]).high, 4)
    4.4841
    """
    from scipy.stats import t

    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, float("nan"), float("nan"))
    spread = float(np.std(values, ddof=1)) / len(values) ** 0.5
    reach = float(t.ppf((1 + confidence) / 2, len(values) - 1)) * spread
    return Interval(mean, mean - reach, mean + reach)
