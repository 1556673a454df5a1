"""A world that survives its process: watched, and brought back bit for bit when it is lost.

The run knows the seed of the epoch and every action taken in it (`Snapshot`), so a new process can
play the epoch again up to the same place. Then the slot is asked for again; its answer is the same.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fmarl.rollout import protocol
from fmarl.rollout.batch import Batch, Snapshot, advance, epoch_start
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.worker_process import WORLD_CRASHED, WorldLost, WorldProcess
from fmarl.wire import Garbled, Message
from fmarl.worlds.world import WorldSpec

WORLD_RESTORED = "WORLD_RESTORED"
# A reply that came while another world was being brought back still has to be read.
READING_SECONDS = 1.0


class Event(NamedTuple):
    """Something that went wrong with a world, or was put right."""

    code: str
    """`WORLD_CRASHED`, `WORLD_HUNG` or `WORLD_RESTORED`."""
    world: int
    slot: int
    """Slot that was being played; −1 if none was."""
    detail: str


class WorldFailed(RuntimeError):  # noqa: N818 — it reads as what happened
    """A world that was lost too often in a row: something is wrong that a restart does not cure."""


@dataclass(frozen=True, kw_only=True)
class RestartPolicy:
    """How long to wait for a world, and how often to bring it back."""

    timeout_seconds: float = 30.0
    """A slot that takes longer counts as hung, and its process group is killed."""
    start_seconds: float = 60.0
    """The same for a start, which includes playing an epoch again."""
    max_restarts: int = 3
    """Restarts in a row; one more loss ends the run."""
    environment: Mapping[str, str] | None = None
    """Environment variables for the worker, beside those of the run."""


class Wanted(NamedTuple):
    """A slot that a world has been asked for."""

    slot: int
    steps: int
    until_over: bool
    frames: bool
    request: Message


class WorldSupervisor:
    """One world of a run. `ask` and `answer` are apart so that all worlds play at once."""

    spec: WorldSpec
    snapshot: Snapshot | None = None
    """Where the world stands after the last slot that was kept; None before it was ever made."""

    def __init__(
        self,
        maker: WorldMaker,
        run_seed: int,
        index: int,
        restarts: RestartPolicy,
        events: list[Event],
    ) -> None:
        self.index = index
        self._maker, self._run_seed, self._restarts, self._events = (
            maker,
            run_seed,
            restarts,
            events,
        )
        self._process: WorldProcess | None = None
        self._stands = False
        self._wanted: Wanted | None = None
        self._deadline, self._losses = 0.0, 0

    @property
    def pid(self) -> int | None:
        """Number of the worker's process, if there is one."""
        return self._process.pid if self._process else None

    def ask(self, wanted: Wanted | None) -> None:
        """Set the world to play a slot, or only to stand ready; does not wait."""
        self._wanted, self._losses = wanted, 0
        try:
            self._begin()
        except WorldLost as loss:
            self._lose(loss)

    def answer(self) -> Batch | None:
        """Wait for what was asked, bringing the world back as often as it takes and is allowed.

        Raises `BadInput` with the world's own line if it refuses, `WorldFailed` if it keeps dying.
        """
        while True:
            try:
                if self._process is None:
                    self._begin()
                if not self._stands:
                    self._stand_ready()
                return self._receive_batch() if self._wanted else None
            except WorldLost as loss:
                self._lose(loss)
            except Garbled as problem:
                self._lose(WorldLost(WORLD_CRASHED, f"answered garbage: {problem}"))

    def keep(self, batch: Batch) -> None:
        """Count a slot as played: from now on the world is brought back to its end."""
        assert self.snapshot is not None and self._wanted is not None
        self.snapshot = advance(self.snapshot, batch, until_over=self._wanted.until_over)
        if not self.snapshot.digest:
            self._stands = False  # the next epoch is begun when it is needed, which may be never

    def stand_at(self, snapshot: Snapshot) -> None:
        """Have the world stand elsewhere before it is next used."""
        self.snapshot, self._stands = snapshot, False

    def modules(self) -> list[str]:
        """Names of the modules that the worker has loaded."""
        process = self._alive()
        process.send(Message("modules", {}, {}), self._restarts.timeout_seconds)
        deadline = time.monotonic() + self._restarts.timeout_seconds
        return process.receive(deadline, "modules").facts["names"]

    def request_stop(self) -> None:
        """Let the worker begin to leave; `close` waits for it."""
        if self._process is not None:
            self._process.request_stop()

    def close(self) -> None:
        """Let an idle worker close its world and leave."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def kill(self) -> None:
        """End the worker at once; the world can still be brought back."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _begin(self) -> None:
        """Send the first message that leads to what is wanted."""
        if self._process is None:
            self._process, self._stands = WorldProcess(self._restarts.environment), False
            start = (self._maker, self._run_seed, self.index, self.snapshot)
            self._send(protocol.make_request(*start), self._restarts.start_seconds)
        elif not self._stands:
            self._send(protocol.restore_request(self.snapshot), self._restarts.start_seconds)
        else:
            self._send_wanted()

    def _stand_ready(self) -> None:
        """Wait for the world to stand where it should, then send what is wanted."""
        self.spec = protocol.spec_of(self._receive("ready"))
        self.snapshot, self._stands = self.snapshot or epoch_start(self.spec), True
        if self._losses:
            replayed = len(self.snapshot.actions)
            self._note(WORLD_RESTORED, f"epoch {self.snapshot.epoch}, {replayed} steps replayed")
        self._send_wanted()

    def _send_wanted(self) -> None:
        if self._wanted is not None:
            self._send(self._wanted.request, self._restarts.timeout_seconds)

    def _receive_batch(self) -> Batch:
        assert self._wanted is not None and self.snapshot is not None
        wanted = self._wanted
        return protocol.batch_of(
            self._receive("batch"),
            self.spec,
            wanted.steps,
            self.snapshot,
            until_over=wanted.until_over,
            frames=wanted.frames,
        )

    def _send(self, message: Message, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._alive().send(message, seconds)

    def _receive(self, kind: str) -> Message:
        deadline = max(self._deadline, time.monotonic() + READING_SECONDS)
        return self._alive().receive(deadline, kind)

    def _alive(self) -> WorldProcess:
        assert self._process is not None
        return self._process

    def _lose(self, loss: WorldLost) -> None:
        self.kill()
        self._losses += 1
        self._note(loss.code, str(loss))
        if self._losses > self._restarts.max_restarts:
            raise WorldFailed(
                f"world {self.index} ({self._maker.word}) was lost {self._losses} times in a row "
                f"in slot {self._slot}; the last time it {loss}."
            ) from loss

    @property
    def _slot(self) -> int:
        return self._wanted.slot if self._wanted else -1

    def _note(self, code: str, detail: str) -> None:
        self._events.append(Event(code, self.index, self._slot, detail))
