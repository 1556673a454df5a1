"""Table IV recomputed: overheads and utilities from each row's method and printed gradient norm."""

from typing import NamedTuple

import numpy as np

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
        printed = (self.row.uploads, self.row.updates, self.row.exchanges)
        same_overheads = printed == (
            self.counted.uploads,
            self.counted.updates,
            self.counted.exchanges,
        )
        return same_overheads and abs(self.utility - self.row.utility) <= 0.5e-4


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
