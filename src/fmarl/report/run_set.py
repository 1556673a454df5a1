"""Which runs a report is about: found in folders, grouped by what they have in common.

Runs whose settings differ in nothing but the seed are one group. Groups in the same world, with the
same options, are a scene: only within it can test rewards be compared. What can not be used is kept
with the reason, so that it can be said.
"""

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fmarl.errors import BadInput, require, require_word
from fmarl.federation.run_labels import distinct_labels, label_of
from fmarl.records.run_folder import UNSPEAKABLE
from fmarl.records.run_list import copies_of, runs_at
from fmarl.report.run_reader import RecordedRun, read_recorded_run


class Group(NamedTuple):
    """Repetitions of one experiment, by seed."""

    label: str
    """What the paper calls it, and what tells it from other groups of the report."""
    runs: list[RecordedRun]

    @property
    def first(self) -> RecordedRun:
        """One of them, for what all have in common."""
        return self.runs[0]

    @property
    def scene(self) -> str:
        """The world, with the options that were changed."""
        settings = self.first.settings
        return " ".join([str(settings.get("world", "?")), *settings.get("set", [])])

    @property
    def unfinished(self) -> int:
        return sum(not run.finished for run in self.runs)


class Unused(NamedTuple):
    """A run that was found and does not count."""

    name: str
    why: str


@dataclass(frozen=True, kw_only=True)
class RunSet:
    """Everything that a report is about."""

    parent: Path
    """The folder that all runs have in common; their names are seen from it."""
    asked: list[str]
    """What to name, in that folder, to get these runs again."""
    groups: list[Group]
    unused: list[Unused]

    @property
    def runs(self) -> list[RecordedRun]:
        return [run for group in self.groups for run in group.runs]

    @property
    def scenes(self) -> dict[str, list[Group]]:
        """Groups that can be compared with each other."""
        names = dict.fromkeys(group.scene for group in self.groups)
        return {name: [one for one in self.groups if one.scene == name] for name in names}


def read_run_set(paths: Sequence[Path]) -> RunSet:
    """Read all runs that are named, or lie in folders that are; `BadInput` if none can be used."""
    folders = find_runs(paths)
    parent = Path(os.path.commonpath([folder.parent for folder in folders]))
    names = [_speakable(folder.relative_to(parent).as_posix()) for folder in folders]
    runs: list[RecordedRun] = []
    unused: list[Unused] = []
    for folder, name in zip(folders, names, strict=True):
        try:
            run = read_recorded_run(folder, name)
        except BadInput as problem:
            # Seen from the runs' own folder: a report is the same wherever that lies.
            unused.append(Unused(name, f"damaged: {problem}".replace(str(folder), name)))
            continue
        if run.lines:
            runs.append(run)
        else:
            unused.append(Unused(name, f"no metrics yet ({run.state})"))
    kept = _once_per_seed(_without_copies(runs, unused), unused)
    if not kept:
        raise BadInput(
            f"{unused[0].name}: {unused[0].why.rstrip('.')}. Nothing can be reported of it."
        )
    asked = ["."] if _holds_just(parent, folders) else names
    return RunSet(parent=parent, asked=asked, groups=_grouped(kept), unused=unused)


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Folders of runs, in the order in which they were asked for; each may come only once."""
    found: list[Path] = []
    for path in paths:
        inside = [run.folder.resolve() for run in runs_at(path)]
        fix = "Name runs that fmarl train made, or results that fmarl reproduce made."
        require(bool(inside), f"{path} without runs", "a run, or a folder that holds runs", fix)
        twice = next((folder for folder in inside if folder in found), None)
        require(twice is None, f"{twice} twice", "every run once", "Leave one path out.")
        found += inside
    return found


def _holds_just(parent: Path, folders: Sequence[Path]) -> bool:
    """Whether a folder holds these runs in this order, and no others."""
    try:
        return find_runs([parent]) == folders
    except BadInput:  # something else in it can not be listed
        return False


def _without_copies(runs: Sequence[RecordedRun], unused: list[Unused]) -> list[RecordedRun]:
    """A copy of a folder would count as another seed."""
    names = {run.folder: run.name for run in runs}
    found = copies_of({run.folder: run.description["run_id"] for run in runs})
    for counted, copies in found.items():
        unused += [Unused(names[copy], f"a copy of {names[counted]}") for copy in copies]
    return [run for run in runs if run.folder in found]


def _once_per_seed(runs: Sequence[RecordedRun], unused: list[Unused]) -> list[RecordedRun]:
    """Of repetitions with the same seed, which would be equal, the one that has come furthest."""
    best: dict[tuple[str, int], RecordedRun] = {}
    for run in runs:
        key = (run.group, run.seed)
        if key not in best or _worth(run) > _worth(best[key]):
            best[key] = run
    kept = [run for run in runs if best[run.group, run.seed] is run]
    for run in runs:
        other = best[run.group, run.seed]
        if other is not run:
            unused.append(Unused(run.name, f"the same settings and seed as {other.name}"))
    return kept


def _worth(run: RecordedRun) -> tuple[int, bool]:
    """What makes one of two equal runs the better: how far it came, and whether it was measured."""
    return run.epoch, bool(run.settings.get("samples"))


def _grouped(runs: Sequence[RecordedRun]) -> list[Group]:
    by_group: dict[str, list[RecordedRun]] = {}
    for run in runs:
        by_group.setdefault(run.group, []).append(run)
    labels = distinct_labels([found[0].settings for found in by_group.values()])
    return [
        Group(label, sorted(found, key=lambda run: run.seed))
        for label, found in zip(labels, by_group.values(), strict=True)
    ]


def reference_of(groups: Sequence[Group], against: str) -> Group:
    """The group that others of a scene are compared with: the one of that name, else the first."""
    named = [one for one in groups if against in (one.label, label_of(one.first.settings))]
    return (named or list(groups))[0]


def require_known(groups: Sequence[Group], against: str) -> None:
    """Refuse a name that no group has."""
    known = [one.label for one in groups]
    plain = [label_of(one.first.settings) for one in groups]
    if against and against not in plain:
        require_word("--against", against, known, f"Use {known[0]!r}.")


def _speakable(name: str) -> str:
    """A name that fits on a line, and into UTF-8."""
    fine = all(unicodedata.category(character) not in UNSPEAKABLE for character in name)
    return name if fine else ascii(name)
