"""One worker process as the run sees it: started, spoken to, and gone again without a trace.

It is started by `exec`, never by a bare fork, in a session of its own, so Ctrl-C reaches the run
only. It holds the read end of a pipe that closes with the run (`serve.py` says what then happens).
What it prints goes to a log in its own temporary directory, which is also what it has as `TMPDIR`.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from fmarl import wire
from fmarl.errors import BadInput
from fmarl.wire import Garbled, Message

WORLD_CRASHED = "WORLD_CRASHED"
WORLD_HUNG = "WORLD_HUNG"
COMMAND = (sys.executable, "-P", "-u", "-X", "faulthandler", "-m", "fmarl.rollout.worker_main")
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
GRACE_SECONDS = 2.0


class WorldLost(Exception):  # noqa: N818 — it reads as what happened
    """A worker that crashed, hung or talked nonsense."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


class WorldProcess:
    """A worker, from its start to `stop` or `kill`; both may be called twice."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        with ExitStack() as started:
            home = started.enter_context(_temporary_directory())
            self._log = started.enter_context((Path(home) / "log").open("a+b", buffering=0))
            self._connection, theirs = socket.socketpair()
            started.enter_context(self._connection)
            started.enter_context(theirs)
            lifeline, ours = os.pipe()
            started.callback(os.close, ours)
            with os.fdopen(lifeline):
                self._child = subprocess.Popen(
                    [*COMMAND, str(theirs.fileno()), str(lifeline)],
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    env={**os.environ, **ONE_THREAD, "TMPDIR": home, **(environment or {})},
                    pass_fds=(theirs.fileno(), lifeline),
                    start_new_session=True,
                )
            started.callback(self._end)
            theirs.close()
            self._held = started.pop_all()

    @property
    def pid(self) -> int:
        """Number of the process, and of its group."""
        return self._child.pid

    def send(self, message: Message, seconds: float) -> None:
        """Hand over a request; `WorldLost` if it is not taken in time."""
        self._log.truncate(0)  # what it said about earlier slots is of no use any more
        self._connection.settimeout(seconds)
        try:
            wire.send(self._connection, message)
        except TimeoutError:
            raise self._hung() from None
        except OSError:
            raise self._crashed() from None

    def receive(self, deadline: float, kind: str) -> Message:
        """Wait for the answer of a kind; `WorldLost` if none comes, `BadInput` if it refuses."""
        try:
            message = wire.receive(self._connection, deadline)
        except TimeoutError:
            raise self._hung() from None
        except OSError:
            raise self._crashed() from None
        except Garbled as problem:
            raise WorldLost(WORLD_CRASHED, f"answered garbage: {problem}") from None
        if message is None:
            raise self._crashed()
        if message.kind == "refused":
            raise BadInput(message.facts.get("line", "the world refused without a reason"))
        if message.kind != kind:
            raise WorldLost(WORLD_CRASHED, f"answered garbage: {message.kind!r}, not {kind!r}")
        return message

    def request_stop(self) -> None:
        """Ask an idle worker to close its world and leave; `stop` then waits for that."""
        with suppress(OSError):  # it may have gone already
            self._connection.shutdown(socket.SHUT_WR)

    def stop(self) -> None:
        """Let an idle worker close its world, but not for long."""
        self.request_stop()
        with suppress(OSError, Garbled):
            wire.receive(self._connection, time.monotonic() + GRACE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End the worker and all it started, now, and give back what we hold of it."""
        self._held.close()

    def _end(self) -> None:
        """Kill the group before its leader is reaped: until then the number is surely ours."""
        if self._child.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()

    def _hung(self) -> WorldLost:
        return WorldLost(WORLD_HUNG, "gave no answer in time")

    def _crashed(self) -> WorldLost:
        """Say how it ended and, if it said so, why."""
        self._end()
        code, why = self._child.returncode, self._last_words()
        how = (
            f"was killed by {signal.Signals(-code).name}" if code < 0 else f"left with code {code}"
        )
        return WorldLost(WORLD_CRASHED, f"{how}: {why}" if why else how)

    def _last_words(self) -> str:
        """Line of the log that names the reason: Python's fatal error, or else the last one."""
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), 4000, max(size - 4000, 0)).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith("Fatal Python error")]
        return (fatal or lines or [""])[-1][:300]


def _temporary_directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fmarl-world-", ignore_cleanup_errors=True)
