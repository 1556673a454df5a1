"""The tables of docs/peers.md, from the settings and the results in the repository.

    PYTHONPATH=tests python -m peers.write_docs

`make test-peers` calls it when it has results; `make test` checks that the page shows them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fmarl.report.statistics import Interval
from peers.results import SIDES, PeerComparison, compared_tasks, read
from peers.sb3_settings import settings
from peers.tasks import TASKS

PAGE = Path(__file__).parents[2] / "docs" / "peers.md"
MARK = "<!-- written by python -m peers.write_docs -->\n"
"""Stands before and after each part; the text around is written by hand."""


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(updated_page(PAGE.read_text()))


def updated_page(page: str) -> str:
    """The page with its tables as they should be."""
    before, _, between, _, after = page.split(MARK)
    comparisons = [read(name) for name in compared_tasks()]
    parts = [before, f"{settings_table()}\n", between, f"{result_tables(comparisons)}\n", after]
    return MARK.join(parts)


def settings_table() -> str:
    """The settings of both sides in Stable-Baselines3's names, which are known best."""
    rows = [
        _row([name, task.env_id, f"{task.steps:,}", _spelled(settings(task))])
        for name, task in TASKS.items()
    ]
    return "\n".join(["| task | environment | steps | settings |", "|---|---|---|---|", *rows])


def result_tables(comparisons: Sequence[PeerComparison]) -> str:
    """Two tables: the scores of each side, and how the sides compare."""
    scores = [_side_row(one, side) for one in comparisons for side in SIDES]
    verdicts = [_verdict_row(one) for one in comparisons]
    return "\n".join(
        [
            "| task | side | runs (failed) | IQM | 95 % interval | mean | while training | CPU s |",
            "|---|---|---|---|---|---|---|---|",
            *scores,
            "",
            "| task | P(ours > theirs) | P(ours > theirs) while training | our IQM | at least | |",
            "|---|---|---|---|---|---|",
            *verdicts,
        ]
    )


def _spelled(arguments: dict[str, Any]) -> str:
    """Names and values in a line, those of inner records as well."""
    inner = {name: _spelled(one) for name, one in arguments.items() if isinstance(one, dict)}
    return " ".join(inner.get(name, f"`{name}={one}`") for name, one in arguments.items())


def _side_row(comparison: PeerComparison, side: str) -> str:
    runs, verdict = comparison.of(side), comparison.verdict
    iqm: Interval = getattr(verdict, side)
    failed = sum(bool(run.failed) for run in runs)
    means = [
        np.mean([getattr(run, name) for run in runs])
        for name in ("score", "training_return", "cpu_seconds")
    ]
    cells = [comparison.task, side, f"{len(runs)} ({failed})", f"{iqm.value:.1f}"]
    cells += [f"{iqm.low:.1f} to {iqm.high:.1f}", *(f"{mean:.1f}" for mean in means)]
    return _row(cells)


def _verdict_row(comparison: PeerComparison) -> str:
    verdict = comparison.verdict
    chances = [verdict.improvement, comparison.improvement_in_training]
    shown = [f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})" for one in chances]
    iqms = [f"{verdict.ours.value:.1f}", f"{verdict.required:.1f}"]
    return _row([comparison.task, *shown, *iqms, "passed" if verdict.passed else "FAILED"])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
