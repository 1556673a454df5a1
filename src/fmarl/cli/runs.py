"""`fmarl runs`: a table of the runs in a folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from fmarl.cli.output import Flag, print_json, print_lines, print_table
from fmarl.records.run_list import RunSummary, list_runs


@dataclass(frozen=True, kw_only=True)
class Runs:
    """List runs: what they train, how far they are, and what their last test found."""

    folder: tyro.conf.Positional[Path] = Path("runs")
    """Folder that holds them."""
    json: Flag = False
    """Print everything as JSON."""

    def run(self) -> int:
        """Read and print."""
        found = list_runs(self.folder)
        facts = [_facts(summary) for summary in found]
        if self.json:
            print_json(facts)
        elif not found:
            print_lines(f"no runs in {self.folder}; start one with: fmarl train figure-eight")
        else:
            columns = list(facts[0])
            print_table(f"runs in {self.folder}", columns, [list(row.values()) for row in facts])
        return 0


def _facts(summary: RunSummary) -> dict[str, Any]:
    experiment = summary.description.get("experiment", {})
    last = summary.last_metrics
    return {
        "run": summary.folder.name,
        "world": experiment.get("world"),
        "algorithm": experiment.get("algorithm"),
        "method": experiment.get("together", {}).get("method"),
        "seed": experiment.get("seed"),
        "epoch": last.get("epoch"),
        "of": experiment.get("num_epochs"),
        "test reward": last.get("mean"),
        "state": _state(summary, last.get("epoch"), experiment.get("num_epochs")),
        "started": summary.description.get("started"),
    }


def _state(summary: RunSummary, epoch: int | None, num_epochs: int | None) -> str:
    if summary.problem:
        return "damaged"
    if summary.holder:
        return f"held by {summary.holder}"
    return "done" if epoch is not None and epoch == num_epochs else "stopped"
