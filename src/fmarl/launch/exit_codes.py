"""Exit codes of a process whose run has failed, by the kind of failure."""

import sys
from contextlib import suppress

from fmarl.engine.train import Diverged
from fmarl.errors import BAD_INPUT, BadInput, EngineFailed
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.checkpoint import NoGoodCheckpoint
from fmarl.user_code import USER_CODE_FAILED, UserCodeFailed

EXIT_CODES: dict[type[Exception], int] = {
    BadInput: BAD_INPUT,
    EngineFailed: 3,
    Diverged: 4,
    DiskTrouble: 5,
    NoGoodCheckpoint: 6,
    UserCodeFailed: USER_CODE_FAILED,
}
RUN_ERRORS = tuple(EXIT_CODES)


def report_error(problem: Exception) -> int:
    """Say in one line what ended a run, one of `RUN_ERRORS`, and return its exit code.

    A bug in the user's code is told by their own traceback, below that line.
    """
    is_users = isinstance(problem, UserCodeFailed)
    said = problem.report if is_users else " ".join(str(problem).split())
    with suppress(OSError):  # whoever read it may be gone
        sys.stderr.write(f"fmarl: {said}\n")
    return next(code for kind, code in EXIT_CODES.items() if isinstance(problem, kind))
