"""The numbers of a report on runs for machines: one table of curves, one of groups."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

from fmarl.report.group_scores import GroupScores
from fmarl.report.run_reader import COUNTS, Line, RecordedRun
from fmarl.report.run_scores import baseline, measure_of, score_of
from fmarl.report.run_set import Group

OF_EPOCHS = (
    *COUNTS,
    "bytes_sent",
    "train_reward",
    "expected_gradient_norm",
    "gradient_norms_measured",
)
"""What a row of curves takes from the line of an epoch, under the same names."""
INTERVALS = ("final", "area", "cost", "initial_gradient_norm", "gradient_norm", "utility")
"""What a row of groups takes from its scores, with the ends."""
UNSENT = dict.fromkeys((*COUNTS, "bytes_sent"), 0)
"""Before anything was learned."""


def curves_sheet(groups: Sequence[Group]) -> bytes:
    """A row for every epoch of every run, with the test that came after it, if one did."""
    rows = [row for group in groups for run in group.runs for row in _run_rows(group.label, run)]
    return _sheet(rows)


def table_sheet(scores: Sequence[GroupScores]) -> bytes:
    """A row for every group: the report's tables in one."""
    return _sheet([group_facts(row) for row in scores])


def group_facts(row: GroupScores) -> dict[str, Any]:
    """Everything that is told of a group, flat; None where nothing is known."""
    intervals = {name: getattr(row, name) for name in INTERVALS}
    ranges = {**row.counts, "bytes_sent": row.bytes_sent}
    reached = row.reached._asdict() if row.reached else {"median": None, "runs": None, "of": None}
    return {
        "group": row.group.label,
        "world": row.group.scene,
        "measure": measure_of(row.group.first),
        "seeds": len(row.group.runs),
        "unfinished": row.group.unfinished,
        **_spelled({name: part._asdict() for name, part in intervals.items()}),
        "epochs_to_baseline_median": _known(reached["median"]),
        "reached_baseline": reached["runs"],
        "had_baseline": reached["of"],
        "ended_early": row.ended_early,
        "test_epochs": row.test_epochs,
        **_spelled({name: part._asdict() for name, part in ranges.items()}),
        "equals_closed_form": row.agrees,
    }


def _run_rows(label: str, run: RecordedRun) -> Iterable[dict[str, Any]]:
    epochs = {line["epoch"]: line for line in run.of_kind("epoch")}
    tests = {line["epoch"]: line for line in run.of_kind("test")}
    start = {line["epoch"]: {**UNSENT, **line} for line in run.of_kind("start")}
    for epoch in sorted(start | epochs | tests):
        line = {**start, **epochs}.get(epoch, {})
        yield {
            "run": run.name,
            "group": label,
            "world": run.settings.get("world"),
            "seed": run.seed,
            "epoch": epoch,
            "update_count": line.get("update_count", 0),
            **{name: line.get(name) for name in OF_EPOCHS},
            **_test_cells(run, tests.get(epoch)),
            "baseline": _known(baseline(run)),
        }


def _test_cells(run: RecordedRun, test: Line | None) -> dict[str, Any]:
    if test is None:
        return {"test": None, "test_reward": None, "test_epochs": None, "ended_early": None}
    return {
        "test": _known(score_of(run, test)),
        "test_reward": test.get("mean"),
        "test_epochs": len(test["crashed"]),
        "ended_early": sum(map(bool, test["crashed"])),
    }


def _spelled(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Records in columns: `final`, `final_low`, `final_high`; ranges have no middle."""
    return {
        name if end == "value" else f"{name}_{end}": _known(value)
        for name, ends in parts.items()
        for end, value in ends.items()
    }


def _known(value: float | int | None) -> float | int | None:
    """What is neither a number nor infinite is not known."""
    return None if value is None or math.isnan(value) else value


def _sheet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    text = StringIO()
    names = list(rows[0]) if rows else []
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
