"""A curve in one line of text, for places where there is no room for a figure."""

from collections.abc import Sequence

import numpy as np

BARS = "▁▂▃▄▅▆▇█"
"""From the lowest value to the highest."""
LEVEL = "▄"
"""For values that are all the same: neither low nor high."""


def sparkline(values: Sequence[float], width: int) -> str:
    """Draw values as bars between their own lowest and highest, at most `width` of them.

    More values than that are averaged in groups of equal size, or nearly so. What is not a finite
    number counts for nothing; a group without any is a blank.

    >>> sparkline([0.0, 1.0, 2.0, float("nan"), 7.0], width=8)
    '▁▂▃ █'
    """
    if width < 1 or len(values) == 0:
        return ""
    groups = np.array_split(np.array(values, dtype=np.float64), min(width, len(values)))
    means = np.array([_mean(group) for group in groups])
    finite = means[np.isfinite(means)]
    if len(finite) == 0:
        return " " * len(means)
    low, high = float(finite.min()), float(finite.max())
    return "".join(_bar(mean, low, high) for mean in means.tolist())


def _mean(group: np.ndarray) -> float:
    finite = group[np.isfinite(group)]
    # Divided before they are added: the sum of the largest floats would be infinite.
    return float((finite / len(finite)).sum()) if len(finite) else float("nan")


def _bar(value: float, low: float, high: float) -> str:
    if np.isnan(value):
        return " "
    if low == high:
        return LEVEL
    share = (value / 2 - low / 2) / (high / 2 - low / 2)  # halves: the span may exceed a float
    return BARS[min(round(share * (len(BARS) - 1)), len(BARS) - 1)]
