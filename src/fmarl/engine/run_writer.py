"""What a run writes down while it goes: metrics, events, frames, samples and checkpoints."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from fmarl.closeable import Closeable
from fmarl.engine.engine import Schedule
from fmarl.engine.run_state import RunState, from_arrays, pattern, to_arrays
from fmarl.federation.ledger import Ledger, MessageSizes, bytes_sent
from fmarl.federation.method_file import describe_method
from fmarl.federation.update import TrainState
from fmarl.records.atomic_files import DiskTrouble, make_folder, write_durably
from fmarl.records.checkpoint import NoGoodCheckpoint, read_checkpoint, write_checkpoint
from fmarl.records.events import EventCode, Note
from fmarl.records.frames import write_frames
from fmarl.records.jsonl import LineWriter, last_record
from fmarl.records.run_description import settings_mark
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.score import measure_in, score_in
from fmarl.records.strict_json import seal
from fmarl.records.tensorboard import Board
from fmarl.rollout.evaluate import Evaluation
from fmarl.user_code import LONGEST_MESSAGE, UserCodeFailed

CHECKPOINT_SECONDS = 20.0
"""A run that is killed loses at most this much work, and an epoch."""
DISK_PAUSES = (1.0, 3.0, 10.0)
"""Seconds to wait before a checkpoint is tried again on a disk that took none."""

MOST_LISTED = 100
"""Agents up to which a line of metrics has the counts of each."""

Listener = Callable[[dict[str, Any]], None]
"""Told of every line of metrics."""


class RunWriter(Closeable):
    """A run's folder, open for writing; its lock must be held. Use it in a `with`."""

    def __init__(self, folder: Path, run_id: str, listen: Listener, world: str = "") -> None:
        self.folder = RunFolder(folder)
        self.path, self._run_id, self._listen, self._world = folder, run_id, listen, world
        with ExitStack() as opening:
            self._metrics = LineWriter(self.folder.metrics)
            opening.callback(self._metrics.close)
            self._events = LineWriter(self.folder.events)
            opening.callback(self._events.close)
            self._closing = opening.pop_all()
        self._board: Board | None = None
        self._saved_at, self._saved_count = time.monotonic(), -1
        self.notes([*self._metrics.notes, *self._events.notes])

    def restore(self, blank: RunState) -> RunState:
        """What the newest good checkpoint holds; the beginning, if none was ever written.

        Metrics are cut back to where they ended then, so that they end as if nothing had happened.
        """
        try:
            saved = read_checkpoint(self.path, self._run_id, pattern(blank))
        except NoGoodCheckpoint as problem:
            if problem.notes:
                raise
            self._start_from(0, 0)
            return blank
        self.notes(saved.notes)
        self._start_from(saved.facts["metrics_end"], saved.update_count)
        self._saved_count = saved.update_count
        self.event(EventCode.RESUMED, update_count=saved.update_count)
        return from_arrays(blank, saved.arrays, saved.facts["memory"])

    @property
    def is_blank(self) -> bool:
        """Whether nothing was measured yet. A run may be stopped when it was, and before a slot."""
        return self._metrics.position == 0

    @property
    def ends_with_test(self) -> bool:
        """Whether the last thing that was measured is a test."""
        return last_record(self.folder.metrics).get("kind") == "test"

    def record(self, line: dict[str, Any]) -> None:
        """Write a line of metrics, for people and for TensorBoard, and tell whoever listens."""
        self._metrics.append(line)
        numbers = {
            f"{line['kind']}/{name}": float(value)
            for name, value in line.items()
            if isinstance(value, int | float) and name not in ("epoch", "update_count")
        }
        if line["kind"] == "test":
            score = score_in(line, self._world)
            numbers |= {f"test/{measure_in(self._world)}": score} if math.isfinite(score) else {}
        assert self._board is not None
        self._board.log(line["update_count"], numbers)
        self._listen(line)

    def method(self, schedule: Schedule) -> None:
        """Write down what the settings of learning together came to."""
        length = (schedule.total_updates, schedule.updates_per_epoch)
        write_durably(self.folder.method, seal(describe_method(schedule.method, *length)))

    def start(self, learned: TrainState, sizes: MessageSizes, measured: dict[str, float]) -> None:
        """Write down what there is before anything is learned; the norm is the paper's ψ2."""
        num_agents, num_parameters = learned.parameters.shape
        self.record(
            {
                "kind": "start",
                "epoch": 0,
                "update_count": 0,
                "settings": settings_mark(read_run(self.path)["experiment"]),
                "num_agents": num_agents,
                "num_parameters": num_parameters,
                "upload_bytes": sizes.upload,
                "exchange_bytes": sizes.exchange,
                **measured,
            }
        )

    def epoch(
        self,
        epoch: int,
        update_count: int,
        slots: list[dict[str, float]],
        ledger: Ledger,
        sizes: MessageSizes,
    ) -> None:
        """Write down the means of an epoch's slots, and what was sent until now."""
        names = sorted({name for slot in slots for name in slot})
        measured = sum("expected_gradient_norm" in slot for slot in slots)
        self.record(
            {
                "kind": "epoch",
                "epoch": epoch,
                "update_count": update_count,
                **{name: _mean([one[name] for one in slots if name in one]) for name in names},
                **({"gradient_norms_measured": measured} if measured else {}),
                **ledger.totals(),
                "bytes_sent": bytes_sent(ledger, sizes),
                **({"ledger": ledger.of_each()} if len(ledger.uploads) <= MOST_LISTED else {}),
            }
        )

    def baseline(self, result: Evaluation) -> None:
        """Write down a test of the traffic without learners."""
        facts = {"kind": "baseline", "epoch": 0, "update_count": 0}
        self.record({**facts, "mean": result.mean, "rewards": result.rewards})

    def test(self, epoch: int, update_count: int, result: Evaluation) -> None:
        """Write down a test, and the frames that were seen in its first epoch."""
        if result.frames is not None:
            make_folder(self.folder.frames)
            write_frames(self.folder.frames_of(epoch), list(result.frames))
        facts = {"kind": "test", "epoch": epoch, "update_count": update_count, "mean": result.mean}
        found = result._asdict()
        del found["frames"]
        self.record({**facts, **found})

    def event(self, code: str, **facts: object) -> None:
        """Write down that something happened, with the time of day."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._events.append({"time": now, "code": code, **facts})

    def failed(self, problem: Exception) -> None:
        """Write down what ends the run, if the disk still takes it."""
        kind, message, place = type(problem).__name__, str(problem)[:LONGEST_MESSAGE], ""
        if isinstance(problem, UserCodeFailed):
            kind, message, place, _ = problem.failure
        facts = {"type": kind, "message": message, "place": place}
        with suppress(DiskTrouble):
            self.event(EventCode.FAILED, **facts)

    def notes(self, notes: Sequence[Note]) -> None:
        """Write down what was found damaged and worked around."""
        for note in notes:
            self.event(note.code, detail=note.detail)

    def events(self, events: Sequence[dict[str, Any]]) -> None:
        """Write down what the engine tells."""
        for event in events:
            self.event(**event)

    @property
    def save_due(self) -> bool:
        """Whether enough time has passed since the last checkpoint."""
        return time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS

    def save(self, state: RunState) -> None:
        """Write a checkpoint, trying again for a while if the disk is full."""
        update_count = int(state.learned.update_count)
        if update_count == self._saved_count:
            return
        for pause in DISK_PAUSES:
            try:
                self._save(update_count, state)
                return
            except DiskTrouble:
                time.sleep(pause)
        self._save(update_count, state)

    def close(self) -> None:
        """Close all files."""
        if self._board is not None:
            self._board.close()
        self._closing.close()

    def _save(self, update_count: int, state: RunState) -> None:
        self._metrics.sync()
        arrays, facts = to_arrays(state)
        facts = {"memory": facts, "metrics_end": self._metrics.position}
        write_checkpoint(self.path, update_count, arrays, facts)
        self._saved_at, self._saved_count = time.monotonic(), update_count

    def _start_from(self, metrics_end: int, update_count: int) -> None:
        self._metrics.truncate_to(metrics_end)
        self._board = Board(self.folder.tensorboard, first_step=update_count + 1)


def _mean(values: list[float]) -> float:
    return float(np.mean(values))
