"""Table IV measured again: what runs of its 13 methods counted and found."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fmarl.report.statistics import Interval, bootstrap_interval
from fmarl.reproduce import paper
from fmarl.reproduce.methods import name_of
from fmarl.reproduce.results import Result
from fmarl.theory import normalised_utility


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


def measured_table(runs: Mapping[str, Mapping[int, Result]]) -> list[MeasuredRow]:
    """Every row of the table from the runs of its method, by the seeds that all methods have."""
    found = [runs.get(name_of(row), {}) for row in paper.TABLE_4]
    utilities = _normalised(found)
    return [
        _measured_row(row, by_seed, values)
        for row, by_seed, values in zip(paper.TABLE_4, found, utilities, strict=True)
    ]


def _normalised(found: Sequence[Mapping[int, Result]]) -> list[list[float]]:
    """Normalised utilities per row, one for each seed that every row has."""
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in found)))
    columns = [
        normalised_utility(np.array([_utility(by_seed[seed]) for by_seed in found]))
        for seed in seeds
    ]
    return [[float(column[index]) for column in columns] for index in range(len(found))]


def _utility(result: Result) -> float:
    """Infeasible for a run that ended before its first average: it removed no error."""
    return result.measured.utility if result.measured else -np.inf


def _measured_row(
    row: paper.TableRow, by_seed: Mapping[int, Result], utilities: Sequence[float]
) -> MeasuredRow:
    results = list(by_seed.values())
    measured = [result.measured for result in results if result.measured]
    return MeasuredRow(
        row,
        len(results),
        results[0].totals if results else {},
        _interval([one.gradient_norm for one in measured]),
        _interval([one.initial_gradient_norm for one in measured]),
        _interval(utilities),
    )


def _interval(values: Sequence[float]) -> Interval:
    return bootstrap_interval(values) if values else Interval(np.nan, np.nan, np.nan)
