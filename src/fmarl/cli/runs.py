"""`fmarl runs`: a table of runs, wherever they lie."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from fmarl.cli.output import Flag, print_json, print_lines, print_table
from fmarl.errors import require
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder
from fmarl.records.run_list import RunSummary, failure_line, runs_at, state_of
from fmarl.records.score import measure_in, score_in, score_text

RUNS = Path("runs")
LEAST = ("started", "algorithm", "seed", "of", "method", "world")
"""Columns that a narrow terminal does without, the first of them first."""


@dataclass(frozen=True, kw_only=True)
class Runs:
    """List runs: what they train, how far they are, and what their last test found."""

    runs: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Runs, or folders that hold runs; without any, runs/."""
    tests: Flag = False
    """With --json, add every test of each run."""
    json: Flag = False
    """Print everything as JSON."""

    def run(self) -> int:
        require(self.json or not self.tests, "--tests alone", "--tests --json", "Add --json.")
        places = self.runs or (RUNS,)
        found = {run.folder.resolve(): run for place in places for run in runs_at(place)}
        named = ", ".join(map(str, places))
        facts = [_facts(summary) for summary in found.values()]
        if self.json:
            tests = [{"tests": _tests(one)} if self.tests else {} for one in found.values()]
            print_json([{**row, **more} for row, more in zip(facts, tests, strict=True)])
        elif not found:
            print_lines(f"no runs in {named}; start one with: fmarl train figure-eight")
        else:
            rows = [_row(row, places) for row in facts]
            print_table(
                f"runs in {named}", list(rows[0]), [[*row.values()] for row in rows], least=LEAST
            )
            print_lines(*(f"damaged: {run.problem}" for run in found.values() if run.problem))
            print_lines(*(f"{row['run']}: {row['failure']}" for row in facts if row["failure"]))
        return 0


def _facts(summary: RunSummary) -> dict[str, Any]:
    experiment = summary.description.get("experiment", {})
    world = experiment.get("world", "")
    epoch, num_epochs = summary.last_metrics.get("epoch"), experiment.get("num_epochs")
    state = "damaged" if summary.problem else state_of(summary.folder, experiment)
    return {
        "run": summary.folder.name,
        "folder": str(summary.folder),
        "world": experiment.get("world"),
        "algorithm": experiment.get("algorithm"),
        "method": experiment.get("together", {}).get("method"),
        "seed": experiment.get("seed"),
        "epoch": epoch,
        "of": num_epochs,
        "measure": measure_in(world) if world else None,
        "test reward": score_in(summary.last_test, world) if summary.last_test else None,
        "state": state,
        "started": summary.description.get("started"),
        "failure": failure_line(summary.folder) if state == "failed" else "",
    }


def _row(facts: dict[str, Any], places: tuple[Path, ...]) -> dict[str, Any]:
    """The same for people: a score with its measure, a folder as seen from those named."""
    folder = Path(facts["folder"])
    inside = [folder.relative_to(place) for place in places if folder.is_relative_to(place)]
    name = next((str(path) for path in inside if path.parts), facts["run"])
    score = f"{score_text(facts['test reward'])} {facts['measure'] or ''}"
    shown = {**facts, "run": name, "test reward": score.strip()}
    return {
        {"test reward": "last test"}.get(column, column): value
        for column, value in shown.items()
        if column not in ("folder", "measure", "failure")
    }


def _tests(summary: RunSummary) -> list[dict[str, Any]]:
    if summary.problem:
        return []
    lines = read_lines(RunFolder(summary.folder).metrics).records
    names = ("epoch", "mean", "rewards", "returns")
    return [
        {name: line.get(name) for name in names} for line in lines if line.get("kind") == "test"
    ]
