"""The part of the report about the bounds: what was measured beside what is proved and printed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fmarl.report.format import number, with_interval
from fmarl.report.page import Paragraph, Section, Table
from fmarl.report.statistics import bootstrap_interval
from fmarl.reproduce.bound_runs import BOUND_NAMES
from fmarl.reproduce.study_results import Evidence

ABOUT = (
    "Plain SGD, one pass over each batch: then the step is the gradient that the theory speaks of. "
    "L is the largest stretch of ∇F on the way from the first to the last average, σ² the mean "
    "squared distance of agents' gradients from ∇F, F(θ̄_0) − F_inf the drop that the run itself "
    "made: all err on the strict side. The corrected bound is the one over synchronised averages. "
    "“Proved” says in how many seeds η is small enough for it; “claimed” the same for the paper's "
    "own bound by its Eq. (14)."
)
HEADER = [
    "run",
    "L",
    "σ²",
    "measured",
    "corrected bound",
    "proved",
    "measured / corrected",
    "printed bound",
    "claimed",
    "measured / printed",
    "NAS at the end",
]


def bound_section(evidence: Evidence) -> Section:
    """One row for each method and rate."""
    rows = [row for name in BOUND_NAMES if (row := _row(evidence, name))]
    caption = "Ratios above 1 break the bound; [95 % intervals over seeds]."
    table = Table(HEADER, rows, caption, "lrrrrlrrlrr")
    return Section("Bounds: measured, proved, printed", "bounds", [Paragraph(ABOUT), table])


def _row(evidence: Evidence, name: str) -> list[str]:
    """Empty if there are no runs; one that failed has no constants."""
    runs = evidence.runs(name).values()
    found = [result.facts["bound"] for result in runs if not result.failed]
    if not found:
        return []
    return [
        name,
        _mean([one["constants"]["smoothness"] for one in found]),
        _mean([one["constants"]["gradient_noise"] for one in found]),
        _mean([one["gradient_norm"] for one in found]),
        _mean([one["corrected"] for one in found]),
        _count(found, "is_proved"),
        _ratio(found, "corrected"),
        _mean([one["printed"] for one in found]),
        _count(found, "is_claimed"),
        _ratio(found, "printed"),
        _mean(list(evidence.scores(name, "final").values())),
    ]


def _mean(values: Sequence[float]) -> str:
    return number(float(np.mean(values)))


def _count(found: Sequence[dict[str, Any]], word: str) -> str:
    return f"{sum(one[word] for one in found)} of {len(found)}"


def _ratio(found: Sequence[dict[str, Any]], bound: str) -> str:
    ratios = [one["gradient_norm"] / one[bound] for one in found]
    return with_interval(bootstrap_interval(ratios))
