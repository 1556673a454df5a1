"""A world that survives its process: watched, and brought back bit for bit when it is lost.

The run knows the seed of the epoch and every action taken in it (`Snapshot`), so a new process can
play the epoch again up to the same place. Then the slot is asked for again; its answer is the same.
"""

import socket
import time
from collections.abc import Mapping
from contextlib import suppress

from fmarl import wire
from fmarl.child_process import LoggedChild, name_for_children
from fmarl.errors import BadInput
from fmarl.records.events import EventCode
from fmarl.rollout.batch import Batch, SlotRequest, Snapshot, advance, batch_of, epoch_start
from fmarl.rollout.protocol import (
    WorldMaker,
    failure_in,
    make_request,
    restore_request,
    spec_of,
)
from fmarl.rollout.restarts import RestartPolicy, WorldEvent, WorldFailed, WorldLost
from fmarl.user_code import Failure, UserCodeFailed, failure_of_hang
from fmarl.wire import Garbled, Message
from fmarl.worlds.world import WorldSpec

PYTHON_FLAGS = ("-P", "-u", "-X", "faulthandler")
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
GRACE_SECONDS = 2.0
# A reply that came while another world was being brought back still has to be read.
READING_SECONDS = 1.0


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
        events: list[WorldEvent],
        role: str = "world",
    ) -> None:
        self.index = index
        self._name = "/".join(filter(None, [name_for_children(), f"{role}-{index}"]))
        self._maker, self._run_seed, self._restarts = maker, run_seed, restarts
        self._events = events
        self._worker: WorkerProcess | None = None
        self._is_in_place = False
        self._request: SlotRequest | None = None
        self._deadline, self._losses = 0.0, 0
        self._failure: Failure | None = None

    @property
    def pid(self) -> int | None:
        """Number of the worker's process, if there is one."""
        return self._worker.pid if self._worker else None

    def ask(self, request: SlotRequest | None) -> None:
        """Have the world play a slot, or only get in place for one; does not wait."""
        self._request, self._losses, self._failure = request, 0, None
        try:
            self._send_next()
        except WorldLost as loss:
            self._lose(loss)

    def answer(self) -> Batch | None:
        """Wait for what was asked, bringing the world back as often as it takes and is allowed.

        Raises `BadInput` with the world's own line if it refuses, `WorldFailed` if it keeps dying,
        `UserCodeFailed` if its code fails in the same way again.
        """
        while True:
            try:
                if self._worker is None:
                    self._send_next()
                if not self._is_in_place:
                    self._await_place()
                return self._receive_batch() if self._request else None
            except WorldLost as loss:
                self._lose(loss)
            except Garbled as problem:
                self._lose(WorldLost(EventCode.WORLD_CRASHED, f"answered garbage: {problem}"))
            except BadInput:
                if self._failure is not None:  # it could not even be brought back
                    raise self._user_code_failed(self._failure) from None
                raise

    def keep(self, batch: Batch) -> None:
        """Count a slot as played: from now on the world is brought back to its end."""
        assert self.snapshot is not None and self._request is not None
        self.snapshot = advance(self.snapshot, batch, until_over=self._request.until_over)
        if not self.snapshot.digest:
            self._is_in_place = False  # the next epoch begins when it is needed, perhaps never

    def move_to(self, snapshot: Snapshot) -> None:
        """Have the world stand elsewhere before it is next used."""
        self.snapshot, self._is_in_place = snapshot, False

    def request_stop(self) -> None:
        """Let the worker begin to leave; `close` waits for it."""
        if self._worker is not None:
            self._worker.request_stop()

    def close(self) -> None:
        """Let an idle worker close its world and leave."""
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def kill(self) -> None:
        """End the worker at once; the world can still be brought back."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _send_next(self) -> None:
        """Send the first message that leads to what was asked."""
        if self._worker is None:
            self._worker = WorkerProcess(self._name, self._restarts.environment)
            self._is_in_place = False
            start = (self._maker, self._run_seed, self.index, self.snapshot)
            self._send(make_request(*start), self._restarts.start_seconds)
        elif not self._is_in_place:
            self._send(restore_request(self.snapshot), self._restarts.start_seconds)
        else:
            self._send_request()

    def _await_place(self) -> None:
        """Wait for the world to stand where it should, then send the request."""
        reply = self._receive("ready")
        self.spec = spec_of(reply)
        self.snapshot, self._is_in_place = self.snapshot or epoch_start(self.spec), True
        if reply.facts.get("step") != len(self.snapshot.actions):  # its epoch began anew
            self.snapshot = epoch_start(self.spec, self.snapshot.epoch)
        if self._losses:
            replayed = len(self.snapshot.actions)
            self._note(
                EventCode.WORLD_RESTORED, f"epoch {self.snapshot.epoch}, {replayed} steps replayed"
            )
        self._send_request()

    def _send_request(self) -> None:
        if self._request is not None:
            self._send(self._request.message(), self._restarts.timeout_seconds)

    def _receive_batch(self) -> Batch:
        assert self._request is not None and self.snapshot is not None
        return batch_of(self._receive("batch"), self.spec, self._request, self.snapshot)

    def _send(self, message: Message, seconds: float) -> None:
        assert self._worker is not None
        self._deadline = time.monotonic() + seconds
        self._worker.send(message, seconds)

    def _receive(self, kind: str) -> Message:
        assert self._worker is not None
        deadline = max(self._deadline, time.monotonic() + READING_SECONDS)
        return self._worker.receive(deadline, kind)

    def _lose(self, loss: WorldLost) -> None:
        self.kill()
        self._losses += 1
        self._note(loss.code, str(loss))
        if loss.failure is not None:
            if loss.failure.is_like(self._failure):
                raise self._user_code_failed(loss.failure) from None
            self._failure = loss.failure
        if self._losses > self._restarts.max_restarts:
            raise WorldFailed(
                f"world {self.index} ({self._maker.word}) was lost {self._losses} times in a row "
                f"in slot {self.slot}; the last time it {loss}."
            ) from loss

    def _user_code_failed(self, failure: Failure) -> UserCodeFailed:
        doing = f"in slot {self.slot}" if self._request else "at its start"
        return UserCodeFailed(f"world {self._maker.word} {doing}", failure)

    @property
    def slot(self) -> int:
        """The slot that was asked for last; −1 if none was."""
        return self._request.slot if self._request else -1

    def _note(self, code: EventCode, detail: str) -> None:
        self._events.append(WorldEvent(code, self.index, self.slot, detail))


class WorkerProcess:
    """A worker (`play.py`), from its start to `stop` or `kill`; both may be called twice."""

    def __init__(self, name: str, environment: Mapping[str, str] | None = None) -> None:
        self._child = LoggedChild(
            "fmarl.rollout.play",
            name=name,
            python_flags=PYTHON_FLAGS,
            environment={**ONE_THREAD, **(environment or {})},
        )

    @property
    def pid(self) -> int:
        return self._child.pid

    def send(self, message: Message, seconds: float) -> None:
        """Hand over a request; `WorldLost` if it is not taken in time."""
        self._child.log.truncate(0)  # what it said about earlier slots is of no use any more
        self._child.connection.settimeout(seconds)
        try:
            wire.send(self._child.connection, message)
        except OSError as problem:
            raise self._lost(problem, seconds) from None

    def receive(self, deadline: float, kind: str) -> Message:
        """Wait for the answer of a kind; `WorldLost` if none comes, `BadInput` if it refuses."""
        seconds = deadline - time.monotonic()
        try:
            message = wire.receive(self._child.connection, deadline)
        except OSError as problem:
            raise self._lost(problem, seconds) from None
        if message is None:
            raise self._lost()
        if message.kind == "failed":
            failure = failure_in(message)
            raise WorldLost(EventCode.WORLD_CRASHED, f"failed: {failure.line}", failure)
        if message.kind == "refused":
            raise BadInput(message.facts.get("line", "the world refused without a reason"))
        if message.kind != kind:
            raise Garbled(f"{message.kind!r}, not {kind!r}")
        return message

    def request_stop(self) -> None:
        """Ask an idle worker to close its world and leave; `stop` then waits for that."""
        with suppress(OSError):  # it may have gone already
            self._child.connection.shutdown(socket.SHUT_WR)

    def stop(self) -> None:
        """Let an idle worker close its world, but not for long."""
        self.request_stop()
        with suppress(OSError, Garbled):
            wire.receive(self._child.connection, time.monotonic() + GRACE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the worker and all it started, now."""
        self._child.kill()

    def _lost(self, problem: OSError | None = None, seconds: float = 0.0) -> WorldLost:
        if isinstance(problem, TimeoutError):
            failure = failure_of_hang(self._child.stack(), seconds)
            return WorldLost(EventCode.WORLD_HUNG, "gave no answer in time", failure)
        return WorldLost(EventCode.WORLD_CRASHED, self._child.how_it_ended())
