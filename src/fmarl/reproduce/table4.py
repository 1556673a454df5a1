"""Table IV: recomputed from what the paper prints, and measured again by runs of its 13 methods."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fmarl.report.format import NOTHING, number, with_interval
from fmarl.report.page import Paragraph, Section, table_of
from fmarl.report.statistics import Interval, seed_interval
from fmarl.reproduce import paper
from fmarl.theory import (
    Overheads,
    Plan,
    Problem,
    count_updates,
    exponential_decay,
    make_plan,
    normalised_utility,
    overheads,
    resource_cost,
    utility,
)
from fmarl.topology import constant_weights, graph_from_text

if TYPE_CHECKING:  # these load JAX, and `fmarl bounds --table4` does not need it
    from fmarl.reproduce.results import Result
    from fmarl.reproduce.study_results import Evidence


class RecomputedRow(NamedTuple):
    """A row of Table IV beside what our formulas give for it."""

    row: paper.TableRow
    counted: Overheads
    cost: float
    utility: float
    """Min–max normalised over the rows given."""

    @property
    def agrees(self) -> bool:
        """Whether the overheads and the printed digits of the utility are the paper's."""
        printed, names = self.row, ("uploads", "updates", "exchanges")
        same = all(getattr(printed, name) == getattr(self.counted, name) for name in names)
        return same and abs(self.utility - printed.utility) <= 0.5e-4


def recompute_table(rows: tuple[paper.TableRow, ...] = paper.TABLE_4) -> list[RecomputedRow]:
    """Every row's overheads and normalised utility from the row's own inputs.

    >>> all(row.agrees for row in recompute_table())
    True
    """
    # The gradient norms are the paper's measurements, so L and σ² play no part here.
    problem = Problem(
        smoothness=1.0, gradient_noise=0.0, initial_gradient_norm=paper.INITIAL_GRADIENT_NORM
    )
    plans = [plan_of(row) for row in rows]
    costs = np.array([float(resource_cost(problem, plan)) for plan in plans])
    norms = np.array([row.gradient_norm for row in rows])
    utilities = normalised_utility(utility(problem.initial_gradient_norm, norms, costs))
    counted = [overheads(plan) for plan in plans]
    return [
        RecomputedRow(row, count, float(cost), float(value))
        for row, count, cost, value in zip(rows, counted, costs, utilities, strict=True)
    ]


def plan_of(row: paper.TableRow) -> Plan:
    """The plan that a row of the table ran."""
    graph = graph_from_text(row.graph, paper.NUM_AGENTS) if row.graph else None
    return make_plan(
        sync_period=row.sync_period,
        local_updates=np.array(row.local_updates),
        decay=exponential_decay(row.decay_rate, row.sync_period),
        mixing=graph and constant_weights(graph, paper.CONSENSUS_STEP, row.consensus_rounds),
        learning_rate=paper.LEARNING_RATE,
        total_updates=count_updates(
            num_epochs=paper.NUM_EPOCHS,
            epoch_steps=paper.EPOCH_STEPS,
            steps_per_update=paper.STEPS_PER_UPDATE,
        ),
    )


class MeasuredRow(NamedTuple):
    """A row of Table IV beside what runs of its method measured."""

    row: paper.TableRow
    seeds: int
    counted: Mapping[str, int]
    """From the ledger of the runs, not from a formula; empty without runs."""
    gradient_norm: Interval
    initial_gradient_norm: Interval
    utility: Interval
    """Min–max normalised over the 13 rows, seed by seed."""

    def agrees(self, num_epochs: int = paper.NUM_EPOCHS) -> bool:
        """Whether the ledger has exactly what the paper prints, or a shorter run's share of it."""
        names = ("uploads", "updates", "exchanges", "mixings")
        counted = [paper.NUM_EPOCHS * self.counted.get(name, -1) for name in names]
        printed = (self.row.uploads, self.row.updates, self.row.exchanges, self.row.exchanges)
        return counted == [num_epochs * count for count in printed]


def measured_table(runs: Mapping[str, Mapping[int, "Result"]]) -> list[MeasuredRow]:
    """Every row of the table from the runs of its method, by the seeds that all methods have."""
    found = [runs.get(row.name, {}) for row in paper.TABLE_4]
    rows = zip(paper.TABLE_4, found, _normalised(found), strict=True)
    return [_measured_row(row, list(by_seed.values()), values) for row, by_seed, values in rows]


def _normalised(found: Sequence[Mapping[int, "Result"]]) -> list[list[float]]:
    """Normalised utilities per row, one for each seed that every row has."""
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in found)))
    columns = [
        normalised_utility(np.array([_utility(by_seed[seed]) for by_seed in found]))
        for seed in seeds
    ]
    return [[float(column[index]) for column in columns] for index in range(len(found))]


def _utility(result: "Result") -> float:
    """Infeasible for a run that ended before its first average: it removed no error."""
    return result.measured.utility if result.measured else -np.inf


def _measured_row(
    row: paper.TableRow, results: Sequence["Result"], utilities: Sequence[float]
) -> MeasuredRow:
    measured = [result.measured for result in results if result.measured]
    return MeasuredRow(
        row,
        len(results),
        results[0].totals if results else {},
        seed_interval([one.gradient_norm for one in measured]),
        seed_interval([one.initial_gradient_norm for one in measured]),
        seed_interval(utilities),
    )


def table_section(evidence: "Evidence") -> Section:
    """Table IV with intervals."""
    epochs = evidence.study.length.num_epochs
    table = measured_table({name: evidence.runs(name) for name in paper.TABLE_NAMES})
    caption = (
        "Table IV. Overheads are counted by the ledger of the runs. Norms are ‖∇F(θ̄)‖² on the "
        "sample set, averaged over all averages of a run; utility is normalised from the worst row "
        "to the best, as in the paper. [95 % intervals over seeds]"
    )
    columns: dict[str, Callable[[MeasuredRow], str]] = {
        "method": lambda row: row.row.name,
        "uploads": lambda row: str(row.counted.get("uploads", NOTHING)),
        "updates": lambda row: str(row.counted.get("updates", NOTHING)),
        "exchanges": lambda row: str(row.counted.get("exchanges", NOTHING)),
        "as printed": lambda row: _as_printed(row, epochs),
        "norm, paper": lambda row: f"{row.row.gradient_norm:.4f}",
        "norm, ours": lambda row: with_interval(row.gradient_norm),
        "utility, paper": lambda row: f"{row.row.utility:.4f}",
        "utility, ours": lambda row: with_interval(row.utility),
        "NAS at the end": lambda row: with_interval(evidence.interval(row.row.name, "final")),
        "seeds": lambda row: str(row.seeds),
    }
    return Section(
        "Table IV: overheads, gradient norm, utility",
        "table4",
        [
            Paragraph(["The paper: ", paper.STATEMENTS["table4"]]),
            Paragraph(_overheads(epochs, sum(row.agrees(epochs) for row in table), len(table))),
            Paragraph(_scale(table)),
            table_of(columns, table, caption, "lrrrlrrrrrr"),
        ],
    )


def _as_printed(row: MeasuredRow, num_epochs: int) -> str:
    if not row.seeds:
        return NOTHING
    return "yes" if row.agrees(num_epochs) else "no"


def _overheads(epochs: int, agreeing: int, count: int) -> str:
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
