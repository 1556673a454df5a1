"""The folder of a run that has not begun, and what is read back from it when the run starts."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.errors import BadInput
from fmarl.records.run_description import describe_run, installed_versions
from fmarl.records.run_folder import create_named_run, create_run, read_run
from fmarl.settings_io import from_plain

RUNS = Path("runs")
"""Where runs go that are given no folder."""


def begin(
    experiment: Experiment,
    folder: Path | str | None = None,
    *,
    command_line: Sequence[str] | None = None,
) -> Path:
    """Make the folder of a run that has not begun yet, and return it."""
    words = sys.argv if command_line is None else command_line
    description = describe_run(describe_experiment(experiment), {"run": experiment.seed}, words)
    if folder is None:
        method, seed = experiment.together.method, experiment.seed
        return create_named_run(RUNS, description, experiment.world, method, seed)
    create_run(Path(folder), description)
    return Path(folder)


def experiment_of(description: dict[str, Any], where: str = "run.json") -> Experiment:
    """The experiment that a run's description holds."""
    return from_plain(Experiment, description["experiment"], where)


def read_experiment(folder: Path) -> Experiment:
    """The experiment of a run's folder."""
    return experiment_of(read_run(folder), f"{folder}/run.json")


def require_same_versions(folder: Path, versions: dict[str, str]) -> None:
    """Other versions may give other bits, and a resumed run promises the same ones."""
    now = installed_versions()
    for name, before in versions.items():
        if name not in ("python", "fmarl") and now.get(name) != before:
            raise BadInput(
                f"{folder} was made with {name} {before}, and here is {now.get(name)}: it would "
                "not end with the same bits. Install that version, or add --force."
            )
