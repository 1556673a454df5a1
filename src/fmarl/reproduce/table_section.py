"""The part of the report about Table IV: what the paper prints, and what the runs measured."""

from fmarl.report.format import NOTHING, number, with_interval
from fmarl.report.page import Paragraph, Section, Table, Text
from fmarl.report.statistics import bootstrap_interval
from fmarl.reproduce import paper
from fmarl.reproduce.measured_table import MeasuredRow, measured_table
from fmarl.reproduce.methods import TABLE_NAMES
from fmarl.reproduce.study_results import Evidence

HEADER = [
    "method",
    "uploads",
    "updates",
    "exchanges",
    "as printed",
    "norm, paper",
    "norm, ours",
    "utility, paper",
    "utility, ours",
    "NAS at the end",
    "seeds",
]


def table_section(evidence: Evidence) -> Section:
    """Table IV with intervals."""
    table = measured_table({name: evidence.runs(name) for name in TABLE_NAMES})
    rows = [_cells(row, name, evidence) for row, name in zip(table, TABLE_NAMES, strict=True)]
    agreeing = sum(row.agrees(evidence.study.length.num_epochs) for row in table)
    caption = (
        "Table IV. Overheads are counted by the ledger of the runs. Norms are ‖∇F(θ̄)‖² on the "
        "sample set, averaged over all averages of a run; utility is normalised from the worst row "
        "to the best, as in the paper. [95 % intervals over seeds]"
    )
    return Section(
        "Table IV: overheads, gradient norm, utility",
        "table4",
        [
            Paragraph(["The paper: ", paper.STATEMENTS["table4"]]),
            Paragraph(_overheads(evidence, agreeing, len(table))),
            Paragraph(_scale(table)),
            Table(HEADER, rows, caption, "lrrrlrrrrrr"),
        ],
    )


def _cells(row: MeasuredRow, name: str, evidence: Evidence) -> list[Text]:
    ends = list(evidence.scores(name, "final").values())
    counts = [str(row.counted.get(part, NOTHING)) for part in ("uploads", "updates", "exchanges")]
    return [
        name,
        *counts,
        _as_printed(row, evidence.study.length.num_epochs),
        f"{row.row.gradient_norm:.4f}",
        with_interval(row.gradient_norm),
        f"{row.row.utility:.4f}",
        with_interval(row.utility),
        with_interval(bootstrap_interval(ends)) if ends else NOTHING,
        str(row.seeds),
    ]


def _as_printed(row: MeasuredRow, num_epochs: int) -> str:
    if not row.seeds:
        return NOTHING
    return "yes" if row.agrees(num_epochs) else "no"


def _overheads(evidence: Evidence, agreeing: int, count: int) -> str:
    epochs = evidence.study.length.num_epochs
    agree = f"agree with the paper in {agreeing} of {count} rows, by the ledger."
    if epochs == paper.NUM_EPOCHS:
        return f"Overheads {agree}"
    return (
        f"Runs have {epochs} of the paper's {paper.NUM_EPOCHS} epochs; for that share of them "
        f"overheads {agree}"
    )


def _scale(table: list[MeasuredRow]) -> str:
    """ψ2 says on which scale the norms are."""
    first = table[0].initial_gradient_norm
    return (
        f"At the start the norm is ψ2 = {with_interval(first)}; the paper's utilities imply "
        f"{number(paper.INITIAL_GRADIENT_NORM, 5)}. Norms depend on the loss's weights and on the "
        "sample set, which the paper does not state, so rows should be compared with rows, not "
        "columns with columns."
    )
