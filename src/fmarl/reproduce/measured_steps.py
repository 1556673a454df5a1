"""How far every method of Table IV steps, beside how well it does."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fmarl.report.statistics import Interval, mean_interval
from fmarl.reproduce import paper
from fmarl.reproduce.methods import name_of, table_methods
from fmarl.reproduce.steps import step_share
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.verdicts import UNKNOWN

MEASURE = "area"
FEWEST_METHODS = 3
"""Two always lie on a line."""


class StepRow(NamedTuple):
    """A method, its share of full steps, and mean NAS while it learns."""

    name: str
    family: str
    """FIRL, FIRL_D or FIRL_C."""
    share: float
    fixed: Interval
    """At the paper's η."""
    tuned: Interval
    """At its own best η."""


def step_rows(evidence: Evidence) -> list[StepRow]:
    """Table IV's methods that were run."""
    methods = table_methods(evidence.study)
    return [
        StepRow(
            name,
            row.method,
            step_share(methods[name].together),
            _interval(evidence.scores(name, MEASURE)),
            _interval(evidence.tuned_scores(name, MEASURE)),
        )
        for row in paper.TABLE_4
        if evidence.runs(name := name_of(row))
    ]


class Line(NamedTuple):
    """The straight line through methods: mean NAS against the share of full steps."""

    slope: float
    """What a whole step more would bring."""
    correlation: float
    """How near to it methods lie, from −1 to 1."""


def line_through(shares: Sequence[float], found: Sequence[Interval]) -> Line:
    """Least squares over the methods that were run.

    >>> line_through([0.5, 0.75, 1.0], [Interval(2 * x, 0.0, 9.0) for x in (0.5, 0.75, 1.0)])
    Line(slope=2.0, correlation=1.0)
    """
    known = [math.isfinite(one.value) for one in found]
    x = np.array(shares)[known]
    y = np.array([one.value for one in found])[known]
    if len(x) < FEWEST_METHODS or np.ptp(x) == 0:
        return Line(math.nan, math.nan)
    (spread, together), (_, other) = np.cov(x, y)
    with np.errstate(invalid="ignore"):  # methods that all do the same lie on no line in particular
        return Line(float(together / spread), float(together / np.sqrt(spread * other)))


def _interval(scores: Mapping[int, float]) -> Interval:
    return mean_interval(list(scores.values())) if scores else UNKNOWN
