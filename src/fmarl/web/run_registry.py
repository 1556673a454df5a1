"""Which runs are watched: those named, and those that appear in folders that are named."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fmarl.errors import require
from fmarl.records.run_folder import DESCRIPTION, RunFolder
from fmarl.web.tail import RunTail, ServerEvent

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

    def poll(self) -> list[ServerEvent]:
        """What has happened since the last call: runs that came, went, and went on."""
        gone = [name for name, run in self.runs.items() if not run.exists]
        for name in gone:
            del self.runs[name]
        events = [ServerEvent("gone", {"run": name}) for name in gone]
        self._add_found()
        for run in list(self.runs.values()):
            events += run.poll()
        return events

    def _add_found(self) -> None:
        known = {run.folder.path for run in self.runs.values()}
        found = dict(pair for place in self._places for pair in _runs_in(place))
        new = sorted((folder for folder in found if folder not in known), key=_age_of)
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


def _age_of(folder: Path) -> float:
    try:
        return RunFolder(folder).description.stat().st_mtime
    except OSError:
        return 0.0
