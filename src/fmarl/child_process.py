"""Child processes that end with their parent, whatever ends that.

A child is started by `exec`, never by a bare fork, and in a session of its own, so Ctrl-C reaches
the parent only. It holds the read end of a pipe whose write end is the parent's alone: when that
closes, the child and all that it has started are killed.

    child = ChildProcess("fmarl.some.module", "word")      # here
    [word] = bind_to_parent()                              # first thing in the module's main()
"""

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

LONGEST_TAIL = 8000
"""Bytes that are read of a child's log."""
STACK_SECONDS = 1.0
"""How long a child may take to write where it is."""
Stream = int | IO[Any] | None

SEARCH_PATH = "FMARL_SEARCH_PATH"
"""Variable of the environment that tells a child where its parent looks for modules."""


def search_path() -> list[str]:
    """Where the user's own modules are looked for: the current folder, then Python's path.

    A child looks where its parent would, whose script may lie elsewhere.
    """
    if told := os.environ.get(SEARCH_PATH):
        return json.loads(told)
    try:
        here = [os.getcwd()]
    except FileNotFoundError:  # it was deleted
        here = []
    return [*here, *(folder for folder in sys.path if os.path.isabs(folder))]


class ChildProcess:
    """`python -m MODULE LIFELINE WORDS…`, from its start to `kill`, which may be called twice."""

    def __init__(
        self,
        module: str,
        *words: str,
        python_flags: Sequence[str] = (),
        pass_fds: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> None:
        lifeline, self._lifeline = os.pipe()
        with os.fdopen(lifeline):
            self.process = subprocess.Popen(
                [sys.executable, *python_flags, "-m", module, str(lifeline), *words],
                pass_fds=(lifeline, *pass_fds),
                env={**os.environ, SEARCH_PATH: json.dumps(search_path()), **(environment or {})},
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Number of the process, and of its group."""
        return self.process.pid

    def end_group(self) -> int:
        """Kill the child with its group and return its exit code.

        The group goes before its leader is reaped: until then the number is surely ours.
        """
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return self.process.wait()

    def kill(self) -> None:
        """End the child and all it has started, and give back what we hold of it."""
        self.end_group()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


_named: ContextVar[str] = ContextVar("named", default="")


@contextmanager
def children_named(name: str) -> Iterator[None]:
    """Within it, connected children show a name, such as a run's, among the words of `ps`."""
    token = _named.set(name)
    try:
        yield
    finally:
        _named.reset(token)


def name_for_children() -> str:
    """What `children_named` has set; empty outside of it."""
    return _named.get()


def show_in_ps(name: str) -> None:
    """Give this process a name of up to 15 characters in `ps`; nothing where that can not be."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name)


def start_connected(
    module: str, *, name: str = "", **settings: Any
) -> tuple[ChildProcess, socket.socket]:
    """A child whose first word is a socket (`connection_to_parent`), and our end of that.

    The name is only for people who look at processes.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        descriptor = theirs.fileno()
        try:
            words = [str(descriptor), *filter(None, [name])]
            child = ChildProcess(module, *words, pass_fds=[descriptor], **settings)
        except BaseException:
            ours.close()
            raise
    return child, ours


class LoggedChild:
    """A connected child, whose output goes to a log in a temporary directory of its own.

    The child has that directory as `TMPDIR` too. `kill` ends it; that may be called twice.
    """

    def __init__(
        self,
        module: str,
        *,
        name: str = "",
        python_flags: Sequence[str] = (),
        environment: Mapping[str, str],
    ) -> None:
        with ExitStack() as started:
            home = started.enter_context(
                tempfile.TemporaryDirectory(prefix="fmarl-world-", ignore_cleanup_errors=True)
            )
            self.log = started.enter_context((Path(home) / "log").open("a+b", buffering=0))
            self._child, self.connection = start_connected(
                module,
                name=name,
                python_flags=python_flags,
                environment={"TMPDIR": home, **environment},
                stdin=subprocess.DEVNULL,
                stdout=self.log,
                stderr=self.log,
            )
            started.enter_context(self.connection)
            started.callback(self._child.kill)
            self._held = started.pop_all()

    @property
    def pid(self) -> int:
        return self._child.pid

    def how_it_ended(self) -> str:
        """End it if it has not ended; say how it did and, if it said so, why."""
        code, why = self._child.end_group(), self._last_words()
        how = f"left with code {code}"
        if code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        return f"{how}: {why}" if why else how

    def _last_words(self) -> str:
        """Line of the log that names the reason: Python's fatal error, or else the last one."""
        lines = [line.strip() for line in self._tail().splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith("Fatal Python error")]
        return (fatal or lines or [""])[-1][:300]

    def _tail(self) -> str:
        """The end of its log."""
        size = os.fstat(self.log.fileno()).st_size
        start = max(size - LONGEST_TAIL, 0)
        return os.pread(self.log.fileno(), LONGEST_TAIL, start).decode(errors="replace")

    def stack(self) -> str:
        """Where it is now, as `faulthandler` (a flag of Python's) writes it; ends it."""
        self.log.truncate(0)
        self._child.process.send_signal(signal.SIGABRT)
        with suppress(subprocess.TimeoutExpired):  # as when it is stopped
            self._child.process.wait(STACK_SECONDS)
        return self._tail()

    def kill(self) -> None:
        """End it and all it started, now, and give back what we hold of it."""
        self._held.close()


def bind_to_parent() -> list[str]:
    """In the child: die with the parent from now on; the words that came with the start."""
    lifeline, *words = sys.argv[1:]
    os.set_inheritable(int(lifeline), False)
    die_with_parent(int(lifeline))
    return words


def connection_to_parent() -> socket.socket:
    """In a child of `start_connected`: die with the parent, and be deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the parent, which then ends us
    descriptor = int(bind_to_parent()[0])
    os.set_inheritable(descriptor, False)
    # A copy: the original stays open to the very end, so the parent hears of our end, and not of
    # our closing the connection a moment before.
    return socket.socket(fileno=os.dup(descriptor))


def die_with_parent(lifeline: int) -> None:
    """Die, with all our children, as soon as the other end of a pipe closes: the parent is gone.

    On Linux the kernel kills the process group itself, even while it is stopped or busy in native
    code. (PR_SET_PDEATHSIG would fire when merely the *thread* that started us ends.)
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # it had closed before we asked
            os.killpg(0, signal.SIGKILL)
    else:
        threading.Thread(target=_wait_and_die, args=(lifeline,), daemon=True).start()


def _wait_and_die(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)
