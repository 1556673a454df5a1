"""A run as a report sees it: what its folder holds, read once and checked, good or not.

Nothing here trains or knows of JAX; a run may be going on while it is read.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fmarl.errors import BadInput
from fmarl.federation.method import Method
from fmarl.federation.method_file import completed, read_method
from fmarl.federation.run_labels import flat_settings, group_of
from fmarl.records.atomic_files import read_whole, reason
from fmarl.records.jsonl import read_lines, require_own_lines
from fmarl.records.lock import is_held
from fmarl.records.run_description import settings_mark
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.run_list import failure_line, failure_of, is_complete, state_of
from fmarl.records.strict_json import LARGEST_SEALED, Malformed, unseal

Line = Mapping[str, Any]

COUNTS = ("uploads", "updates", "exchanges", "mixings")
"""What the paper prices at C1, C2, W1 and W2, as lines of metrics call it."""
NEEDED: dict[str, dict[str, type]] = {
    "epoch": {name: int for name in (*COUNTS, "bytes_sent")},
    "test": {"rewards": list, "crashed": list},
    "baseline": {"rewards": list},
    "start": {},
}
"""What lines of each kind must have beside `epoch` and `update_count`."""


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """One run."""

    name: str
    """Its folder, as seen from the folder that all runs of a report have in common."""
    folder: Path
    description: Mapping[str, Any]
    """As `run.json` has it."""
    lines: Sequence[Line]
    """Its metrics so far."""
    events: Mapping[str, int]
    """How often each code of event was written."""
    method: Method | None
    """How its agents learn together; None if it did not write that down."""
    total_updates: int
    """K: slots that it has; 0 if it did not write down its method."""
    state: str
    """not begun, running, done, stopped, killed, failed or diverged."""
    failure: str = ""
    """Why it failed, in one line; empty if it did not."""

    @property
    def settings(self) -> dict[str, Any]:
        """The experiment, nested."""
        return self.description["experiment"]

    @cached_property
    def flat(self) -> dict[str, Any]:
        """The experiment, by the names of its flags."""
        return flat_settings(self.settings)

    @cached_property
    def group(self) -> str:
        """The same for repetitions of one experiment."""
        return group_of(self.settings)

    @property
    def seed(self) -> int:
        return self.settings.get("seed", 0)

    @property
    def epoch(self) -> int:
        return self.lines[-1]["epoch"] if self.lines else 0

    @property
    def num_epochs(self) -> int:
        return self.settings.get("num_epochs", 0)

    @property
    def finished(self) -> bool:
        return bool(self.lines) and is_complete(self.lines[-1], self.settings)

    def of_kind(self, kind: str) -> list[Line]:
        return [line for line in self.lines if line["kind"] == kind]


def read_recorded_run(folder: Path, name: str) -> RecordedRun:
    """Read a run's folder; `BadInput` if a part of it is damaged."""
    place, description = RunFolder(folder), read_run(folder)
    held = is_held(folder)  # first: a run that ends while it is read was running
    require_own_lines(place.metrics, settings_mark(description["experiment"]))
    lines = read_lines(place.metrics).records
    for line in lines:
        _require_sound(line, place.metrics)
    codes = [str(event.get("code", "?")) for event in read_lines(place.events).records]
    method, facts = recorded_method(place)
    run = RecordedRun(
        name=name,
        folder=folder,
        description=description,
        lines=lines,
        events=dict(sorted(Counter(codes).items())),
        method=method,
        total_updates=facts.get("total_updates", 0),
        state="running" if held else "",
        failure=failure_line(folder),
    )
    return run if held else replace(run, state=_state(run, codes))


def sealed_facts(path: Path) -> dict[str, Any] | None:
    """What a sealed file holds; None if there is no such file, `BadInput` if it is damaged."""
    try:
        return unseal(read_whole(path, LARGEST_SEALED))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, reason(error)) from None
    except Malformed as problem:
        raise _damaged(path, str(problem)) from None


def _state(run: RecordedRun, codes: Sequence[str]) -> str:
    """What has become of a run that nobody holds."""
    found = state_of(run.folder, run.settings)
    if found == "failed":
        return "diverged" if failure_of(run.folder).get("type") == "Diverged" else found
    if found != "stopped":
        return found
    if not run.lines:
        return "not begun"
    return "diverged" if codes[-1:] == ["NONFINITE"] else found


def recorded_method(place: RunFolder) -> tuple[Method | None, dict[str, Any]]:
    """How the agents of a run learn together, and `method.json`; None and {} if there is none."""
    facts = sealed_facts(place.method)
    if facts is None:  # not yet, or an older run
        return None, {}
    try:
        return read_method(facts), completed(facts)
    except KeyError as missing:
        raise _damaged(place.method, f"it has no {missing}") from None


def _require_sound(line: Line, path: Path) -> None:
    needed = {"epoch": int, "update_count": int, **NEEDED.get(str(line.get("kind")), {})}
    for name, kind in needed.items():
        if not isinstance(line.get(name), kind):
            raise _damaged(path, f"a line of kind {line.get('kind')!r:.20} has no {name}")


def _damaged(path: Path, why: str) -> BadInput:
    return BadInput(f"{path} can not be read: {why}. Put the file back, or leave the run out.")
