"""How far seeds lie apart: the one rule for every band and every bracket in a report on runs.

From three seeds on it is Student's interval of the mean, which keeps its promise for few seeds;
of two there is only their range; of one there is nothing to say.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fmarl.report.statistics import Interval, mean_interval

FEWEST = 3
"""Seeds that an interval needs."""
RULE = (
    "Brackets and bands are 95 % intervals of the mean over seeds (Student's) where there are "
    f"{FEWEST} or more, the lowest and the highest of two, and nothing for one."
)
UNKNOWN = Interval(math.nan, math.nan, math.nan)


def spread(values: Sequence[float]) -> Interval:
    """Mean and ends by the rule; what is not a number is left out, and an infinite one has no ends.

    >>> spread([1.0, 3.0]), spread([2.0, math.nan]).low
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


def spread_word(count: int) -> str:
    """What the ends are for so many seeds.

    >>> spread_word(1), spread_word(2), spread_word(5)
    ('', 'min–max', '95 %')
    """
    if count < 2:
        return ""
    return "95 %" if count >= FEWEST else "min–max"


def band(
    runs: Float[np.ndarray, "seed point"],
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """Ends at every point of curves, of the runs that have come so far."""
    ends = np.array([spread(column)[1:] for column in runs.T.tolist()]).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]
