"""The parts of a report on runs about what was learned, and at what price."""

import math
from collections.abc import Callable, Sequence

from fmarl.report.format import NOTHING, between, listed, number, size, with_interval
from fmarl.report.group_scores import GroupComparison, GroupScores, Reached
from fmarl.report.mpl_style import Figure
from fmarl.report.page import Block, Paragraph, Picture, Section, Table, table_of
from fmarl.report.run_figures import sends
from fmarl.report.run_scores import measure_of
from fmarl.report.statistics import FEWEST, RULE, Interval

SIGNS = {True: "✓ equal", False: "✗ not equal", None: NOTHING}
LAST = "“At the end” is the mean of the last tenth of the tests, at least of the last one."

LEVEL = (
    "SUMO’s NAS is what its own drivers reach in the same test epochs; the number of epochs is the "
    "median over seeds, where a run that never gets there counts as later than all."
)


def results_section(
    title: str,
    anchor: str,
    scores: Sequence[GroupScores],
    comparisons: Sequence[GroupComparison],
    figure: Figure | None,
) -> Section:
    """One scene: curves, what they come to, differences, and what it cost."""
    blocks: list[Block] = [_curves(scores, figure), _table(scores), *_compared(comparisons)]
    return Section(title, anchor, [*blocks, _exchanged(scores)])


def _curves(scores: Sequence[GroupScores], figure: Figure | None) -> Block:
    if figure is None:
        return Paragraph("No test has found anything, or none was made: there are no curves.")
    caption = [
        f"Tests ({measure_of(scores[0].group.first)}) against epochs, and against all bytes sent "
        f"until then. Thin lines are single seeds, thick lines their mean. {RULE}"
    ]
    if any(row.group.unfinished for row in scores):
        caption.append("Where some runs have not come so far, both are of those that have.")
    silent = [row.group.label for row in scores if not sends(row.group)]
    if silent:
        caption.append(f"Nothing was sent before any test by {listed(silent)}.")
    labels = listed([row.group.label for row in scores])
    words = f"Learning curves of {labels}; their numbers are in the table below."
    return Picture(figure, " ".join(caption), words)


def _table(scores: Sequence[GroupScores]) -> Table:
    """What the curves come to; columns that would be empty are left out."""
    measure = measure_of(scores[0].group.first)
    on_road = measure == "NAS"
    columns: dict[str, Callable[[GroupScores], str]] = {
        "method": lambda row: row.group.label,
        "seeds": seeds_cell,
        f"{measure} at the end": lambda row: with_interval(row.final),
        f"mean {measure} over the run": lambda row: with_interval(row.area),
    }
    caption = LAST
    if any(row.reached for row in scores):
        columns["epochs to SUMO’s NAS"] = lambda row: reached_cell(row.reached)
        caption = f"{LAST} {LEVEL}"
    if on_road or any(row.ended_early for row in scores):
        head = "collisions in tests" if on_road else "test epochs that ended early"
        columns[head] = lambda row: f"{row.ended_early} of {row.test_epochs}"
    return table_of(columns, scores, caption, "l" + "r" * (len(columns) - 1))


def seeds_cell(row: GroupScores) -> str:
    """How many runs, and how many of them are not at their end."""
    count, rest = len(row.group.runs), row.group.unfinished
    return f"{count} ({rest} not finished)" if rest else str(count)


def reached_cell(reached: Reached | None) -> str:
    """When half of the runs had come to a level, and how many ever did.

    >>> [reached_cell(Reached(*one)) for one in ((20.0, 3, 3), (math.inf, 1, 3), (math.inf, 0, 3))]
    ['20 (3 of 3)', 'only 1 of 3', 'never (0 of 3)']
    """
    if reached is None:
        return NOTHING
    count = f"{reached.runs} of {reached.of}"
    if math.isfinite(reached.median):
        return f"{reached.median:g} ({count})"
    return f"only {count}" if reached.runs else f"never ({count})"


def _compared(comparisons: Sequence[GroupComparison]) -> list[Block]:
    """Differences to the reference, or why there are none."""
    if not comparisons:
        return []
    reference = comparisons[0].reference
    paired = [one for one in comparisons if one.seeds]
    alone = [one.group.label for one in comparisons if not one.seeds]
    blocks: list[Block] = []
    if paired:
        measure = measure_of(reference.first)
        columns: dict[str, Callable[[GroupComparison], str]] = {
            "method": lambda one: one.group.label,
            "common seeds": lambda one: (
                f"{len(one.seeds)}" + ": not enough seeds" * (not one.enough)
            ),
            f"{measure} at the end": lambda one: _signed(one.final),
            f"mean {measure}": lambda one: _signed(one.area),
            "is higher": lambda one: _share(one.chance),
        }
        blocks.append(table_of(columns, paired, _comparison_caption(reference.label), "lrrrr"))
    if alone:
        why = f"Not enough seeds to compare with {reference.label}: {listed(alone)}."
        blocks.append(Paragraph(why))
    return blocks


def _comparison_caption(reference: str) -> str:
    return (
        f"Differences to {reference} on the same seeds, which share their networks and their "
        f"traffic: mean and 95 % interval (Student’s, from {FEWEST} seeds on). “Is higher”: how "
        "often a run ends higher than one of the other side, with a bootstrap interval; with few "
        "seeds 0 and 1 come easily. Runs that are not finished are left out, diverged ones count."
    )


def _signed(difference: Interval) -> str:
    return ("+" if difference.value > 0 else "") + with_interval(difference)


def _share(chance: Interval) -> str:
    if not math.isfinite(chance.low):
        return f"{chance.value:.2f}"
    return f"{chance.value:.2f} [{chance.low:.2f}, {chance.high:.2f}]"


def _exchanged(scores: Sequence[GroupScores]) -> Table:
    columns: dict[str, Callable[[GroupScores], str]] = {
        "method": lambda row: row.group.label,
        "uploads (C1)": lambda row: between(*row.counts["uploads"]),
        "updates (C2)": lambda row: between(*row.counts["updates"]),
        "exchanges (W1)": lambda row: between(*row.counts["exchanges"]),
        "mixings (W2)": lambda row: between(*row.counts["mixings"]),
        "closed form": lambda row: SIGNS[row.agrees],
        "sent": lambda row: " – ".join(dict.fromkeys(size(count) for count in row.bytes_sent)),
        "cost ψ0": lambda row: number(row.cost.value, 4),
    }
    caption = (
        "What one run did, counted as it happened, by all agents together. The closed form is the "
        "paper’s Eqs. (7) and (27) for as many updates; – where it has none, as with delays or "
        "with local updates that are drawn. ψ0 is all of it at the paper’s prices."
    )
    return table_of(columns, scores, caption, "lrrrrlrr")
