"""What is new in a run's folder since it was last looked at, as events for the page."""

from pathlib import Path
from typing import Any, NamedTuple

from fmarl.errors import BadInput
from fmarl.federation.method import Method
from fmarl.federation.method_theory import expected_overheads
from fmarl.federation.run_labels import group_of, label_of
from fmarl.records.events import EventCode
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.run_list import failure_line, state_of
from fmarl.records.score import measure_in, score_in
from fmarl.report.run_reader import recorded_method

CHANGING = (EventCode.RESUMED, EventCode.EXTENDED)
"""Events after which lines may be gone, or settings be others."""
LINES_AT_ONCE = 100
"""Lines in one message: a long run comes in parts, so that the page draws while it loads."""
SHOWN = (
    "kind",
    "epoch",
    "update_count",
    "mean",
    "rewards",
    "steps",
    "crashed",
    "num_agents",
    "num_parameters",
    "upload_bytes",
    "exchange_bytes",
    "train_reward",
    "gradient_norm",
    "expected_gradient_norm",
    "gradient_norms_measured",
    "uploads",
    "downloads",
    "updates",
    "exchanges",
    "mixings",
    "relays",
    "bytes_sent",
    "ledger",
)
"""What the page shows of a line of metrics; the rest stays where it is."""


class ServerEvent(NamedTuple):
    """An event of the stream that every viewer of the page reads."""

    name: str
    data: dict[str, Any]


class RunTail:
    """One run, and how far its files have been read."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = RunFolder(folder), name
        self.settings: dict[str, Any] = {}
        self._start_over()
        self._last_state: dict[str, Any] = {}
        self._events_end = 0
        self._frames: list[int] = []

    def _start_over(self) -> None:
        self._metrics_end, self._epoch, self._sizes = 0, 0, (0, 0)
        self._method: Method | None = None

    @property
    def exists(self) -> bool:
        return self.folder.description.exists()

    def poll(self) -> list[ServerEvent]:
        """Everything since the last call, in the order in which the page should hear it."""
        if self._metrics_end > 0 and not self.folder.metrics.exists():
            return []  # it is being deleted, for no run takes away what it has written
        events = self._read_events()
        lines, problem = [], ""
        try:
            changed = any(event.get("code") in CHANGING for event in events)
            if changed or not self.settings:
                self.settings = read_run(self.folder.path)["experiment"]
            lines = self._new_lines(cut_back=changed)
        except BadInput as found:
            problem = str(found)
        told = [*self._new_state(problem), *lines, *self._new_frames()]
        return [*told, self._event("events", events=events)] if events else told

    def _event(self, event: str, **facts: Any) -> ServerEvent:
        return ServerEvent(event, {"run": self.name, **facts})

    def _new_state(self, problem: str) -> list[ServerEvent]:
        """What the run is and how it stands, if that has changed."""
        settings = self.settings
        num_epochs = settings.get("num_epochs", 0)
        state = "damaged" if problem else state_of(self.folder.path, settings)
        if state == "stopped" and self._metrics_end == 0:
            state = "starting"
        facts = {
            "name": self.name,
            "label": label_of(settings) if settings else self.name,
            "world": settings.get("world", ""),
            "algorithm": settings.get("algorithm", ""),
            "method": settings.get("together", {}).get("method", ""),
            "seed": settings.get("seed", 0),
            "measure": measure_in(settings.get("world", "")),
            "num_epochs": num_epochs,
            "group": group_of(settings),
            "state": state,
            "problem": problem,
            "failure": failure_line(self.folder.path) if state == "failed" else "",
        }
        if facts == self._last_state:
            return []
        self._last_state = facts
        return [self._event("run", **facts)]

    def _new_lines(self, *, cut_back: bool) -> list[ServerEvent]:
        """Lines of metrics. A resumed run has cut its file back: then all are told again."""
        shorter = size_of(self.folder.metrics) < self._metrics_end
        again = self._metrics_end > 0 and (shorter or cut_back)
        if again:
            self._start_over()
        found = read_lines(self.folder.metrics, self._metrics_end)
        self._metrics_end = found.position
        lines = [self._shown(line) for line in found.records]
        parts = [lines[at : at + LINES_AT_ONCE] for at in range(0, len(lines), LINES_AT_ONCE)]
        reset = [self._event("reset")] if again else []
        return reset + [self._event("lines", lines=part) for part in parts]

    def _shown(self, line: dict[str, Any]) -> dict[str, Any]:
        """A line with the closed form beside what was counted."""
        shown = {name: line[name] for name in SHOWN if name in line}
        if line["kind"] == "start":
            self._method, _ = recorded_method(self.folder)
            self._sizes = line["upload_bytes"], line["exchange_bytes"]
        if line["kind"] == "epoch":
            self._epoch = line["epoch"]
            shown |= self._expected(line["update_count"])
        if line["kind"] == "test":
            shown["mean"] = score_in(line, self.settings.get("world", ""))
        return shown

    def _expected(self, update_count: int) -> dict[str, Any]:
        counts = expected_overheads(self._method, update_count) if self._method else None
        if counts is None:
            return {}
        upload, exchange = self._sizes
        sent = 2 * counts.uploads * upload + counts.exchanges * exchange
        return {"expected": {**counts._asdict(), "bytes": sent}}

    def _read_events(self) -> list[dict[str, Any]]:
        try:
            found = read_lines(self.folder.events, self._events_end)
        except BadInput:  # told with the metrics, if it matters
            return []
        self._events_end = found.position
        return found.records

    def _new_frames(self) -> list[ServerEvent]:
        epochs = sorted(
            int(path.stem) for path in self.folder.frames.glob("*.npz") if path.stem.isdigit()
        )
        if set(epochs) <= set(self._frames):  # fewer: they are being deleted, which is no news
            return []
        self._frames = epochs
        return [self._event("frames", epochs=epochs)]


def size_of(path: Path) -> int:
    """Bytes of a file; none if it can not be seen."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
