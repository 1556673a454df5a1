"""The part of the report about why methods differ: how far they step at the same η."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fmarl.report.format import NOTHING, number, with_interval
from fmarl.report.mpl_style import Figure
from fmarl.report.page import Paragraph, Picture, Section, table_of
from fmarl.report.statistics import Interval
from fmarl.reproduce import paper
from fmarl.reproduce.methods import step_share, table_methods
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.tuning import TUNED, best_steps

MEASURE = "area"
FEWEST_METHODS = 3
"""Two always lie on a line."""
ABOUT = (
    "Agents that have no update left in a period, and updates that are decayed, make a step "
    "shorter. The share of full steps that a method takes is (1/τ) Σ D(y) a(y), with a(y) the "
    "share of agents that are active in slot y. If mean NAS follows it where all methods have the "
    "same η, and does not where each has its own, methods differ as step sizes do."
)


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
            evidence.interval(name, MEASURE),
            evidence.interval(TUNED + name, MEASURE),
        )
        for row in paper.TABLE_4
        if evidence.runs(name := row.name)
    ]


class StraightLine(NamedTuple):
    """The straight line through methods: mean NAS against the share of full steps."""

    slope: float
    """What a whole step more would bring."""
    correlation: float
    """How near to it methods lie, from −1 to 1."""


def line_through(shares: Sequence[float], found: Sequence[Interval]) -> StraightLine:
    """Least squares over the methods that were run.

    >>> line_through([0.5, 0.75, 1.0], [Interval(2 * x, 0.0, 9.0) for x in (0.5, 0.75, 1.0)])
    StraightLine(slope=2.0, correlation=1.0)
    """
    known = [math.isfinite(one.value) for one in found]
    x = np.array(shares)[known]
    y = np.array([one.value for one in found])[known]
    if len(x) < FEWEST_METHODS or np.ptp(x) == 0:
        return StraightLine(math.nan, math.nan)
    (spread, together), (_, other) = np.cov(x, y)
    with np.errstate(invalid="ignore"):  # methods that all do the same lie on no line in particular
        return StraightLine(float(together / spread), float(together / np.sqrt(spread * other)))


def step_section(evidence: Evidence, figure: Figure) -> Section:
    """Mean NAS against the share of full steps, drawn and in numbers."""
    rows = step_rows(evidence)
    best = best_steps(evidence.study, evidence.results)
    caption = "Mean NAS to epoch 100, beside how far a method steps. [95 % intervals over seeds]"
    apart = f"{caption} Points at the same share are drawn a little apart."
    columns: dict[str, Callable[[StepRow], str]] = {
        "method": lambda row: row.name,
        "share of full steps": lambda row: number(row.share),
        "at the paper's η": lambda row: with_interval(row.fixed),
        "at its best η": lambda row: with_interval(row.tuned),
        "best η": lambda row: f"{best[row.name] or NOTHING}",
    }
    table = table_of(columns, rows, caption, "lrrrr")
    drawn = "Mean NAS to epoch 100 against the share of full steps; the table has the same numbers."
    return Section(
        "Why methods differ: how far they step",
        "steps",
        [Paragraph(ABOUT), Paragraph(found(rows)), Picture(figure, apart, drawn), table],
    )


def found(rows: list[StepRow]) -> str:
    """How well the share of full steps tells what becomes of a method."""
    shares = [row.share for row in rows]
    fixed = line_through(shares, [row.fixed for row in rows])
    tuned = line_through(shares, [row.tuned for row in rows])
    return (
        f"A straight line through {len(rows)} methods rises by {number(fixed.slope / 10, 2)} in "
        f"mean NAS per tenth of a step at the paper's η (correlation "
        f"{number(fixed.correlation, 2)}), and by {number(tuned.slope / 10, 2)} with each method "
        f"at its own best (correlation {number(tuned.correlation, 2)})."
    )
