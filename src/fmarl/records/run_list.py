"""All runs in a folder, at a glance: little is read of each, however long it ran."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from fmarl.errors import BadInput
from fmarl.records.atomic_files import reason
from fmarl.records.checkpoint import newest_checkpoint
from fmarl.records.events import EventCode
from fmarl.records.jsonl import last_of_kind, last_record, require_own_lines
from fmarl.records.lock import holder, is_held
from fmarl.records.run_description import settings_mark
from fmarl.records.run_folder import RunFolder, read_run


class RunSummary(NamedTuple):
    """What a list of runs says about one."""

    folder: Path
    description: dict[str, Any]
    """As `read_run` returns it; empty if that fails."""
    problem: str
    """Why the description or the metrics can not be read; empty if they can."""
    last_metrics: dict[str, Any]
    """The last line of the metrics; empty before there is one."""
    last_test: dict[str, Any]
    """The last of them about a test; empty before there is one."""
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


def runs_at(path: Path) -> list[RunSummary]:
    """A run itself; else those in a folder, and in folders of it such as one per seed, by age."""
    if RunFolder(path).description.exists():
        return [summarise(path)]
    found = list_runs(path)
    for child in sorted(path.iterdir()):
        if child.is_dir() and not RunFolder(child).description.exists():
            with suppress(BadInput):  # a folder that may not be read is none of ours
                found += list_runs(child)
    return sorted(found, key=lambda run: run.description.get("started", "~"))


def copies_of(ids: Mapping[Path, str]) -> dict[Path, list[Path]]:
    """The folders that count, of runs by their `run_id`, and the copies of each that do not.

    Of several folders that hold one run, the one whose metrics are longest counts; else the first.
    """
    by_id: dict[str, list[Path]] = {}
    for folder, run_id in ids.items():
        by_id.setdefault(run_id, []).append(folder)
    best = [max(same, key=_length_of_metrics) for same in by_id.values()]
    return {one: [folder for folder in by_id[ids[one]] if folder != one] for one in best}


def _length_of_metrics(folder: Path) -> int:
    try:
        return RunFolder(folder).metrics.stat().st_size
    except OSError:
        return 0


def state_of(folder: Path, experiment: Mapping[str, Any]) -> str:
    """Whether a run is running, killed, done, failed (`failure_of` says why) or stopped."""
    if is_held(folder):
        return "running"
    if holder(folder):
        return "killed"
    last = last_record(RunFolder(folder).metrics)
    # Checkpoints may have been deleted; one of before the end was not.
    if is_complete(last, experiment) and newest_checkpoint(folder) in (None, last["update_count"]):
        return "done"
    return "failed" if failure_of(folder) else "stopped"


def is_complete(last_metrics: Mapping[str, Any], experiment: Mapping[str, Any]) -> bool:
    """Whether a run's last line of metrics is its very last: a test, unless it has none.

    >>> is_complete({"kind": "epoch", "epoch": 9}, {"num_epochs": 9, "test_every": 3})
    False
    """
    if last_metrics.get("epoch") != experiment.get("num_epochs", ...):
        return False
    return last_metrics.get("kind") == "test" or not experiment.get("test_every", 0)


def failure_of(folder: Path) -> dict[str, Any]:
    """What ended a run, as its last event tells it; empty if it did not fail."""
    event = last_record(RunFolder(folder).events)
    return event if event.get("code") == EventCode.FAILED else {}


def failure_line(folder: Path) -> str:
    """The same in one line; of a bug in the user's code its type, message, file and line."""
    failure = failure_of(folder)
    kind, message, place = (str(failure.get(name, "")) for name in ("type", "message", "place"))
    if not place:
        return message or kind
    return f"{kind}: {message} ({place})" if message else f"{kind} ({place})"


def summarise(folder: Path) -> RunSummary:
    """Look at one run; a damaged one has a `problem` and is not an error."""
    description, test, problem = {}, {}, ""
    try:
        description = read_run(folder)
        mark = settings_mark(description["experiment"])
        require_own_lines(RunFolder(folder).metrics, mark)
        test = last_of_kind(RunFolder(folder).metrics, "test")
    except BadInput as found:
        problem = str(found)
    return RunSummary(
        folder=folder,
        description=description,
        problem=problem,
        last_metrics=last_record(RunFolder(folder).metrics),
        last_test=test,
        checkpoint=newest_checkpoint(folder),
        holder=holder(folder),
    )
