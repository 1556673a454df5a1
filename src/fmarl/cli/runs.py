"""`fmarl runs`: a table of the runs in a folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from fmarl.cli.output import Flag, print_json, print_lines, print_table
from fmarl.errors import require
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder
from fmarl.records.run_list import RunSummary, list_runs, state_of


@dataclass(frozen=True, kw_only=True)
class Runs:
    """List runs: what they train, how far they are, and what their last test found."""

    folder: tyro.conf.Positional[Path] = Path("runs")
    """Folder that holds them."""
    tests: Flag = False
    """With --json, add every test of each run."""
    json: Flag = False
    """Print everything as JSON."""

    def run(self) -> int:
        require(self.json or not self.tests, "--tests alone", "--tests --json", "Add --json.")
        found = list_runs(self.folder)
        facts = [_facts(summary) for summary in found]
        if self.json:
            tests = [{"tests": _tests(one)} if self.tests else {} for one in found]
            print_json([{**row, **more} for row, more in zip(facts, tests, strict=True)])
        elif not found:
            print_lines(f"no runs in {self.folder}; start one with: fmarl train figure-eight")
        else:
            columns = list(facts[0])
            print_table(f"runs in {self.folder}", columns, [list(row.values()) for row in facts])
        return 0


def _facts(summary: RunSummary) -> dict[str, Any]:
    experiment = summary.description.get("experiment", {})
    tests = _tests(summary)
    epoch, num_epochs = summary.last_metrics.get("epoch"), experiment.get("num_epochs")
    state = "damaged" if summary.problem else state_of(summary.folder, epoch, num_epochs)
    return {
        "run": summary.folder.name,
        "world": experiment.get("world"),
        "algorithm": experiment.get("algorithm"),
        "method": experiment.get("together", {}).get("method"),
        "seed": experiment.get("seed"),
        "epoch": epoch,
        "of": num_epochs,
        "test reward": tests[-1]["mean"] if tests else None,
        "state": state,
        "started": summary.description.get("started"),
    }


def _tests(summary: RunSummary) -> list[dict[str, Any]]:
    lines = read_lines(RunFolder(summary.folder).metrics).records
    names = ("epoch", "mean", "rewards")
    return [{name: line[name] for name in names} for line in lines if line["kind"] == "test"]
