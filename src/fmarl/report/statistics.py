"""Numbers with their uncertainty: what may be said after so many seeds.

Every 95 % interval of a mean over seeds is Student's, by one rule (`seed_interval`), in reports on
runs and in the reproduction, in tables and in bands: it keeps its promise for few seeds.

The probability of improvement and its bootstrap are those of Agarwal et al. 2021 ("Deep
reinforcement learning at the edge of the statistical precipice"); tests/golden/rliable.json holds
what their library finds. Resampling starts from a fixed seed and
does not see the order of runs, so a report is the same each time.
SciPy is slow to load: the functions that need it import it.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from fmarl.errors import require

LAST_SHARE = 0.1
"""Of the tests: those that count as the end of a run. No maximum over time is ever taken."""
FEWEST = 3
"""Seeds that an interval needs."""
RULE = (
    "Brackets and bands are 95 % intervals of the mean over seeds (Student's) where there are "
    f"{FEWEST} or more, the lowest and the highest of two, and nothing for one."
)
RESAMPLES = 10_000


class Interval(NamedTuple):
    """An estimate, and the interval that is meant to hold the true value."""

    value: float
    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan, math.nan)


def seed_interval(values: Sequence[float]) -> Interval:
    """Mean and ends by `RULE`; what is not a number is left out, and an infinite one has no ends.

    >>> seed_interval([1.0, 3.0]), seed_interval([2.0, math.nan]).low
    (Interval(value=2.0, low=1.0, high=3.0), nan)
    """
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return UNKNOWN
    if len(known) == 1 or not all(map(math.isfinite, known)):
        return UNKNOWN._replace(value=sum(known) / len(known))
    if len(known) < FEWEST:
        return Interval(sum(known) / len(known), min(known), max(known))
    return mean_interval(known)


def interval_word(seeds: int) -> str:
    """What the ends are for so many seeds.

    >>> interval_word(1), interval_word(2), interval_word(5)
    ('', 'min–max', '95 %')
    """
    if seeds < 2:
        return ""
    return "95 %" if seeds >= FEWEST else "min–max"


def seed_band(
    runs: Float[np.ndarray, "seed point"],
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """Ends by `RULE` at every point of curves, of the runs that have come so far."""
    ends = np.array([seed_interval(column)[1:] for column in runs.T.tolist()]).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval for the mean of independent repetitions; not a number for a single one.

    >>> round(mean_interval([1.0, 2.0, 3.0]).high, 4)
    4.4841
    """
    mean = float(np.mean(values))
    if len(values) < 2:
        return Interval(mean, math.nan, math.nan)
    spread = float(np.std(values, ddof=1)) / len(values) ** 0.5
    reach = _student_quantile((1 + confidence) / 2, len(values) - 1) * spread
    return Interval(mean, mean - reach, mean + reach)


@cache
def _student_quantile(share: float, degrees: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, share))


def probability_of_improvement(
    ours: Sequence[float], theirs: Sequence[float], confidence: float = 0.95
) -> Interval:
    """How often a run of ours has a higher value than one of theirs; a tie counts half.

    Mann and Whitney's U by the number of pairs. Only the order counts, so infinite values are
    like any others and two of the same sign tie. Both sides are resampled; if one has a single
    run, the ends are not numbers. Sides that do not overlap give 0 or 1 without any
    spread, however few the runs.

    >>> probability_of_improvement([1.0, 3.0], [2.0, 3.0]).value
    0.375
    """
    samples = [_comparable(sorted(values)) for values in (ours, theirs)]
    return resampled(_share_of_wins, confidence, *samples)


def end_of_curve(y: Sequence[float]) -> float:
    """Mean of the last tenth of a curve, at least of one point; not a number if there is none.

    >>> end_of_curve([0.1, 0.9, 0.2])
    0.2
    """
    count = max(round(LAST_SHARE * len(y)), 1)
    return float(np.mean(y[-count:])) if len(y) else math.nan


def area_under_curve(x: Sequence[float], y: Sequence[float]) -> float:
    """Mean height of the curve: its area by trapezoids, divided by the range of x.

    >>> area_under_curve([0.0, 10.0, 30.0], [0.0, 2.0, 2.0])
    1.6666666666666667
    """
    _require_curve(x, y)
    require(len(x) > 1, f"a curve of {len(x)} points", "two or more", "Test more often.")
    return float(np.trapezoid(y, x)) / (x[-1] - x[0])


def time_to_level(x: Sequence[float], y: Sequence[float], level: float) -> float:
    """The first x whose y has reached the level; inf if none has.

    >>> time_to_level([0.0, 10.0, 20.0], [0.1, 0.5, 0.4], level=0.4)
    10.0
    """
    _require_curve(x, y)
    return next((when for when, height in zip(x, y, strict=True) if height >= level), math.inf)


def _share_of_wins(
    ours: Float[np.ndarray, "*resample seed"],
    theirs: Float[np.ndarray, "*resample other_seed"],
    axis: int = -1,  # as those of NumPy and SciPy have it; it is always the last
) -> Any:
    """Pairs won, and those not lost: halfway between, a tie counts half."""
    pairs = ours.shape[axis] * theirs.shape[axis]
    ours, theirs = ours[..., :, None], theirs[..., None, :]
    won, not_lost = (np.count_nonzero(of, (-2, -1)) for of in (ours > theirs, ours >= theirs))
    return (won + not_lost) / (2 * pairs)


def resampled(
    statistic: Callable[..., Any], confidence: float, *samples: Float[np.ndarray, " _"]
) -> Interval:
    """A statistic and its percentile interval; the ends are not numbers for a single value."""
    allowed = "0 < confidence < 1"
    require(0 < confidence < 1, f"confidence = {confidence}", allowed, "Use 0.95 for 95 %.")
    value = float(statistic(*samples))
    if min(map(len, samples)) < 2:
        return Interval(value, math.nan, math.nan)
    random = np.random.default_rng(0)
    drawn = [one[random.integers(len(one), size=(RESAMPLES, len(one)))] for one in samples]
    found, tail = statistic(*drawn, axis=-1), (1 - confidence) / 2
    low = np.quantile(found, tail, method="lower")
    high = np.quantile(found, 1 - tail, method="higher")
    return Interval(value, float(low), float(high))


def _comparable(values: Sequence[float]) -> Float[np.ndarray, " seed"]:
    unordered = any(math.isnan(value) for value in values)
    fix = "Give a failed run the score of its last checkpoint."
    require(not unordered, "a comparison with nan", "numbers and infinities", fix)
    return sample_of(values)


def sample_of(values: Sequence[float]) -> Float[np.ndarray, " seed"]:
    """Values as an array; `BadInput` if there are none."""
    require(len(values) > 0, "an estimate from no values", "one or more", "Give one per seed.")
    return np.array(values, dtype=float)


def _require_curve(x: Sequence[float], y: Sequence[float]) -> None:
    sizes = f"a curve of {len(x)} x and {len(y)} y"
    require(len(x) == len(y), sizes, "as many of both", "Give one y for each x.")
    numbers = all(map(math.isfinite, (*x, *y)))
    require(numbers, "a curve with nan or inf", "finite numbers", "Leave that point out.")
    rises = all(before < after for before, after in pairwise(x))
    require(rises, f"x = {list(x)}", "each x greater than the one before", "Sort the points by x.")
