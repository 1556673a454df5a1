"""Which runs are watched: those named, and those that appear in folders that are named."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from fmarl.errors import BadInput, require
from fmarl.records.lock import is_held
from fmarl.records.run_folder import DESCRIPTION, RunFolder, read_run
from fmarl.web.run_differences import SAME, differences_of, short_names
from fmarl.web.tail import RunTail, ServerEvent, size_of

MOST_RUNS = 200
"""More would neither fit on the page nor be told apart there; the newest are shown."""
DEPTH = 2
"""Levels below a folder on which runs are looked for: runs/NAME, and runs/NAME/seed-0."""
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class RunRegistry:
    """Runs by the names that they have on the page. Used by one thread at a time."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = [place.absolute() for place in places]
        self.runs: dict[str, RunTail] = {}
        self._ids: dict[Path, str] = {}
        self._copies: dict[Path, list[Path]] = {}
        """Folders of the same run as the one that is shown; a copy is not another seed."""
        self._last_compared: dict[str, Any] = {}

    def poll(self) -> list[ServerEvent]:
        """What has happened since the last call: runs that came, went, and went on."""
        found = dict(pair for place in self._places for pair in _runs_in(place))
        self._copies = self._find_copies(list(found))
        events = self._drop_missing()
        self._add_new({folder: found[folder] for folder in self._copies})
        for run in list(self.runs.values()):
            events += run.poll()
        return events + self._compare()

    def _find_copies(self, folders: Sequence[Path]) -> dict[Path, list[Path]]:
        """By the folder that is shown of each run, the others that hold the same run."""
        by_id: dict[str, list[Path]] = {}
        for folder in folders:
            by_id.setdefault(self._id_of(folder), []).append(folder)
        copies = {}
        for same in by_id.values():
            best = self._best_of(same)
            copies[best] = [folder for folder in same if folder != best]
        return copies

    def _best_of(self, same: Sequence[Path]) -> Path:
        """Of copies of one run, the longest, then the oldest; one that is being trained stays."""
        shown = [run.folder.path for run in self.runs.values() if run.folder.path in same]
        if len(same) == 1 or (shown and is_held(shown[0])):
            return [*shown, *same][0]
        lengths = {folder: size_of(RunFolder(folder).metrics) for folder in same}
        return max([*shown, *same], key=lambda folder: (lengths[folder], -_begun_at(folder)))

    def _id_of(self, folder: Path) -> str:
        """What its copies have in common with it; itself where that can not be read."""
        if folder not in self._ids:
            try:
                self._ids[folder] = read_run(folder)["run_id"]
            except BadInput:
                return str(folder)
        return self._ids[folder]

    def _drop_missing(self) -> list[ServerEvent]:
        """Runs that were deleted, or of which a longer copy is shown now."""
        missing = [name for name, run in self.runs.items() if run.folder.path not in self._copies]
        dropped = [self.runs.pop(name) for name in missing]
        for run in dropped:
            self._ids.pop(run.folder.path, None)
        return [ServerEvent("copy" if run.exists else "gone", {"run": run.name}) for run in dropped]

    def _add_new(self, found: dict[Path, str]) -> None:
        known = {run.folder.path for run in self.runs.values()}
        new = sorted((folder for folder in found if folder not in known), key=_begun_at)
        room = max(MOST_RUNS - len(known), 0)
        for folder in new[len(new) - room :] if len(new) > room else new:
            name = self._unused_name(found[folder])
            self.runs[name] = RunTail(folder, name)

    def _unused_name(self, name: str) -> str:
        """A name that no other run has; two folders may hold runs of one name."""
        number, free = 2, name
        while free in self.runs:
            number, free = number + 1, f"{name}-{number}"
        return free

    def _compare(self) -> list[ServerEvent]:
        """What tells runs apart, and which of them have copies, if that has changed."""
        folders = {name: run.folder.path for name, run in self.runs.items()}
        known = {run.folder.path: run.settings for run in self.runs.values() if run.settings}
        told = differences_of(known)
        names = short_names([*folders.values(), *chain(*self._copies.values())])
        compared = {
            name: {
                **told.get(folder, SAME)._asdict(),
                "copies": [names[copy] for copy in self._copies[folder]],
            }
            for name, folder in folders.items()
        }
        if compared == self._last_compared:
            return []
        self._last_compared = compared
        return [ServerEvent("compared", {"runs": compared})]


def require_places(places: Sequence[Path]) -> None:
    """Refuse a place that is not there, before anything is served."""
    for place in places:
        require(
            place.is_dir(),
            f"{place}",
            "a run's folder, or one that holds runs",
            "Start one with: fmarl train figure-eight",
        )


def _runs_in(place: Path) -> Iterator[tuple[Path, str]]:
    """Runs at or below a place, each with a name that fits into an address."""
    for depth in range(DEPTH + 1):
        for path in sorted(place.glob("*/" * depth + DESCRIPTION)):
            folder = path.parent
            words = folder.relative_to(place).parts or (folder.name,)
            yield folder, UNSAFE.sub("_", ".".join(words)).strip(".") or "run"


def _begun_at(folder: Path) -> float:
    try:
        return RunFolder(folder).description.stat().st_mtime
    except OSError:
        return 0.0
