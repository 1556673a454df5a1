"""All runs in a folder, at a glance: little is read of each, however long it ran."""

from pathlib import Path
from typing import Any, NamedTuple

from fmarl.errors import BadInput
from fmarl.records.atomic_files import reason
from fmarl.records.checkpoint import newest_checkpoint
from fmarl.records.jsonl import last_record
from fmarl.records.lock import holder, is_held
from fmarl.records.run_folder import RunFolder, read_run


class RunSummary(NamedTuple):
    """What a list of runs says about one."""

    folder: Path
    description: dict[str, Any]
    """As `read_run` returns it; empty if that fails."""
    problem: str
    """Why the description can not be read; empty if it can."""
    last_metrics: dict[str, Any]
    """The last line of the metrics; empty before there is one."""
    checkpoint: int | None
    """Updates done at the newest checkpoint, good or not."""
    holder: str
    """Who is at work on it, or was when it was killed; empty if it was let go."""


def list_runs(folder: Path) -> list[RunSummary]:
    """Summaries of the runs in a folder, oldest first; those whose start is not known come last."""
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        raise BadInput(
            f"{folder} can not be listed: {reason(error)}. Start a run with fmarl train."
        ) from None
    runs = [summarise(child) for child in children if RunFolder(child).description.exists()]
    return sorted(runs, key=lambda run: run.description.get("started", "~"))


def state_of(folder: Path, epoch: int | None, num_epochs: int | None) -> str:
    """Whether a run is running, killed, done or stopped, by its lock and how far it has come."""
    if is_held(folder):
        return "running"
    if holder(folder):
        return "killed"
    return "done" if epoch is not None and epoch == num_epochs else "stopped"


def summarise(folder: Path) -> RunSummary:
    """Look at one run; a damaged one has a `problem` and is not an error."""
    description, problem = {}, ""
    try:
        description = read_run(folder)
    except BadInput as found:
        problem = str(found)
    return RunSummary(
        folder=folder,
        description=description,
        problem=problem,
        last_metrics=last_record(RunFolder(folder).metrics),
        checkpoint=newest_checkpoint(folder),
        holder=holder(folder),
    )
