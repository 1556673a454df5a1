"""Errors in code that is not ours, such as a user's environment: their traceback, no frame of ours.

    raise UserCodeFailed("world channels in slot 3", failure_of(problem))

Plain data that crosses process borders as JSON, bounded in size.
"""

import os
import re
import site
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fmarl.errors import BadInput

USER_CODE_FAILED = 7
"""Exit code for a bug in the user's own code."""
LONGEST_MESSAGE = 400
LONGEST_TRACEBACK = 8000
OURS = (os.path.dirname(__file__) + os.sep, "<frozen ", "<@beartype")
"""How the names of files begin whose frames say nothing to the user."""
LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    | {site.getusersitepackages()}
)
HUNG = "Hung"
"""Kind of a failure that raised nothing."""


class Failure(NamedTuple):
    """What went wrong in the user's code, and where."""

    kind: str
    """The exception's type, or `Hung`."""
    message: str
    place: str
    """`file:line`; empty if it is not known."""
    traceback: str
    """As Python prints it, without our own frames."""

    @property
    def line(self) -> str:
        said = f"{self.kind}: {self.message}" if self.message else self.kind
        return f"{said} ({self.place})" if self.place else said

    def is_like(self, other: "Failure | None") -> bool:
        """Whether both tell of one bug: a process that is started again would only fail again."""
        if other is None or self.kind != other.kind:
            return False
        return self.kind == HUNG or (self.message, self.place) == (other.message, other.place)


class UserCodeFailed(RuntimeError):  # noqa: N818 — it reads as what happened
    """The user's own code failed: one line of ours, and their traceback."""

    def __init__(self, doing: str, failure: Failure) -> None:
        super().__init__(doing, failure)
        self.doing, self.failure = doing, failure

    def __str__(self) -> str:
        return f"{self.doing} failed: {self.failure.line}"

    @property
    def report(self) -> str:
        """What to show: our line, and the traceback below it."""
        return f"{self.doing} failed; this is its own error:\n{self.failure.traceback.rstrip()}"


def failure_of(problem: BaseException) -> Failure:
    """An exception as its author wants to see it.

    >>> failure_of(ZeroDivisionError("by zero"))[:3]
    ('ZeroDivisionError', 'by zero', '')
    """
    if isinstance(problem, UserCodeFailed):
        return problem.failure
    told = traceback.TracebackException.from_exception(problem)
    if any(_is_foreign(frame) for frame in told.stack):  # else it is our own bug, told in full
        _drop_our_frames(told)
    message = " ".join(str(problem).split())[:LONGEST_MESSAGE]
    text = _shortened("".join(told.format()))
    return Failure(type(problem).__name__, message, _place(told.stack), text)


@contextmanager
def own_code(doing: str) -> Iterator[None]:
    """Errors of the user's own code in the body, told apart from all others."""
    try:
        yield
    except (BadInput, UserCodeFailed):
        raise
    except (Exception, SystemExit) as problem:
        raise UserCodeFailed(doing, failure_of(problem)) from problem


def failed_in(doing: str, problem: Exception) -> Exception:
    """`UserCodeFailed` if a file of the user's is to blame; a one-line `BadInput` if a library."""
    frames = traceback.extract_tb(problem.__traceback__)
    if any(_is_own(frame) for frame in frames):
        return UserCodeFailed(doing, failure_of(problem))
    said = f"{type(problem).__name__}: {' '.join(str(problem).split())[:LONGEST_MESSAGE]}"
    return BadInput(f"{doing} failed with {said.rstrip('.')}. Check its options.")


def failure_of_hang(dump: str, seconds: float) -> Failure | None:
    r"""Where the user's code hangs, by what `faulthandler` has written; None if not in their code.

    >>> dump = 'Current thread 0x1 (most recent call first):\n  File "/env.py", line 3 in step\n'
    >>> failure_of_hang(dump, 30.0)[:3]
    ('Hung', 'no answer in 30 s', '/env.py:3')
    """
    main_thread = dump.rpartition("(most recent call first):")[2]
    found = re.findall(r'^  File "(.+)", line (\d+) in (.+)$', main_thread, re.MULTILINE)
    frames = [
        traceback.FrameSummary(name, int(line), function)
        for name, line, function in reversed(found)
    ]
    foreign = [frame for frame in frames if _is_foreign(frame)]
    if not any(_is_own(frame) for frame in foreign):
        return None
    text = "".join(traceback.format_list(foreign))
    told = f"Traceback (most recent call last):\n{text}{HUNG}: no answer in {seconds:.0f} s\n"
    return Failure(HUNG, f"no answer in {seconds:.0f} s", _place(foreign), _shortened(told))


def _shortened(text: str) -> str:
    """Text whose middle is left out if it is long; the end of a traceback matters most."""
    if len(text) <= LONGEST_TRACEBACK:
        return text
    head = LONGEST_TRACEBACK // 4
    return f"{text[:head]}\n  …\n{text[head - LONGEST_TRACEBACK :]}"


def _place(frames: Sequence[traceback.FrameSummary]) -> str:
    """The innermost frame, of the user's own files if there is one, as `file:line`."""
    if not frames:
        return ""
    frame = ([frame for frame in frames if _is_own(frame)] or list(frames))[-1]
    path, here = Path(frame.filename), Path.cwd()
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{frame.lineno}"


def _is_foreign(frame: traceback.FrameSummary) -> bool:
    name = frame.filename
    return not name.startswith(OURS) and not name.endswith("importlib/__init__.py")


def _is_own(frame: traceback.FrameSummary) -> bool:
    """Whether it is in a file of the user's, not in one of a library."""
    return _is_foreign(frame) and not frame.filename.startswith(LIBRARIES)


def _drop_our_frames(told: traceback.TracebackException) -> None:
    """In the exception and in those that it came from."""
    told.stack = traceback.StackSummary.from_list([one for one in told.stack if _is_foreign(one)])
    for earlier in (told.__cause__, told.__context__):
        if earlier is not None:
            _drop_our_frames(earlier)
