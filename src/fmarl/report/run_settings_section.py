"""The parts of a report on runs that say which runs these are, and how to make them again."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fmarl.federation.run_labels import NOT_IN_A_GROUP, differences
from fmarl.report.format import NOTHING, counted, listed
from fmarl.report.page import Block, Code, Details, Paragraph, Section, Table
from fmarl.report.run_reader import RecordedRun
from fmarl.report.run_set import RunSet


def runs_section(runs: RunSet) -> Section:
    """Every run that was found: what became of it, and those that do not count."""
    blocks: list[Block] = []
    if runs.unused:
        caption = f"{counted(len(runs.unused), 'run')} found and not used."
        blocks.append(Table(["run", "why"], [list(one) for one in runs.unused], caption))
    unfinished = [run for run in runs.runs if not run.finished]
    if unfinished:
        caption = "Not finished: they count as far as they have come."
        blocks.append(_run_table(runs, unfinished, caption))
    title = f"All {len(runs.runs)} runs that count" if len(runs.runs) > 1 else "The run"
    table = _run_table(runs, runs.runs, "Events are what went wrong, or was put right.")
    return Section("Runs", "runs", [*blocks, Details(title, [table])])


def settings_section(runs: RunSet, against: str) -> Section:
    """What differs, what does not, what ran, and the commands."""
    chosen = ["--against", against] if against else []
    flat = [group.first.flat for group in runs.groups]
    differing = {name: found for name, found in differences(flat).items() if _matters(name, found)}
    known = {name: value for settings in reversed(flat) for name, value in settings.items()}
    shared = {
        name: value
        for name, value in known.items()
        if name not in differing and name not in NOT_IN_A_GROUP
    }
    return Section(
        "Settings",
        "settings",
        [
            *_differing(runs, differing),
            Details("Settings that are the same in all runs", [_shared(shared)]),
            _versions(runs.runs),
            _commands(runs.runs),
            Paragraph("This report again, from the folder that holds the runs:"),
            Code(shlex.join(["fmarl", "report", *runs.asked, *chosen])),
        ],
    )


def _matters(name: str, values: Sequence[Any]) -> bool:
    """Whether a setting differs where it is used, and not merely in who uses it."""
    used = [value for value in values if value is not None]
    return name not in NOT_IN_A_GROUP and any(value != used[0] for value in used)


def _run_table(runs: RunSet, shown: Sequence[RecordedRun], caption: str) -> Table:
    labels = {run.name: group.label for group in runs.groups for run in group.runs}
    rows = [
        [
            run.name,
            labels[run.name],
            str(run.seed),
            f"failed: {run.failure}" if run.state == "failed" else run.state,
            f"{run.epoch} of {run.num_epochs}",
            run.description["started"],
            ", ".join(f"{code} {count}" for code, count in run.events.items()) or NOTHING,
        ]
        for run in shown
    ]
    header = ["run", "method", "seed", "state", "epochs", "started", "events"]
    return Table(header, rows, caption, "llrlrll")


def _differing(runs: RunSet, differing: Mapping[str, Sequence[Any]]) -> list[Block]:
    """A row per group; nothing differs where there is only one."""
    if not differing:
        return []
    rows = [
        [group.label, *(_value(values[index]) for values in differing.values())]
        for index, group in enumerate(runs.groups)
    ]
    caption = "Settings that differ; – where one is not used, or empty."
    return [Table(["label", *differing], rows, caption)]


def _versions(runs: Sequence[RecordedRun]) -> Table:
    """What ran: a column for each set of versions."""
    kinds: dict[str, list[RecordedRun]] = {}
    for run in runs:
        kinds.setdefault(repr(sorted(_ran(run).items())), []).append(run)
    columns = [_ran(found[0]) for found in kinds.values()]
    rows = [
        [name, *(_value(column.get(name)) for column in columns)]
        for name in dict.fromkeys(name for column in columns for name in column)
    ]
    heads = [listed([run.name for run in found]) for found in kinds.values()]
    return Table(["what ran", *(heads if len(heads) > 1 else ["version"])], rows, "Versions.")


def _ran(run: RecordedRun) -> dict[str, Any]:
    return {"git commit": run.description["git_commit"], **run.description["versions"]}


def _commands(runs: Sequence[RecordedRun]) -> Details:
    rows = [[run.name, command_of(run)] for run in runs]
    caption = "What was typed; runs with several seeds were started by one command."
    return Details("The command of every run", [Table(["run", "command"], rows, caption)])


def command_of(run: RecordedRun) -> str:
    """What a run was started by, without the folder in which the program happened to lie."""
    program, *words = [str(word) for word in run.description["command_line"]] or [""]
    name = "fmarl" if Path(program).name in ("fmarl", "__main__.py") else Path(program).name
    return shlex.join([name, *words])


def _shared(values: Mapping[str, Any]) -> Table:
    rows = [[name, _value(value)] for name, value in sorted(values.items())]
    return Table(["setting", "value"], rows, "Some are used by some runs only.")


def _value(value: Any) -> str:
    if value is None or value == "" or value == []:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
