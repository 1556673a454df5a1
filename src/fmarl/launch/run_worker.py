"""A process that trains runs on one core, one after another: both ends of it.

Loading JAX and compiling take longer than a short run does; here only the first run pays for them.
The child reads one request per line of its standard input. A run that ends well is answered with a
byte, and the next may come; any other ends the process, with the run's exit code.
"""

import json
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE
from typing import IO

from fmarl.child_process import ChildProcess, bind_to_parent, show_in_ps

DONE = b"."


class RunWorker:
    """Such a process, and the run that it was last given."""

    _code: int | None = 0
    """How its run has ended."""
    has_ended = False
    """Whether it can not be given another run."""

    def __init__(self, core: int, stderr: IO[bytes] | None = None) -> None:
        self._child = ChildProcess(__name__, str(core), stdin=PIPE, stdout=PIPE, stderr=stderr)
        self.process = self._child.process

    @property
    def is_busy(self) -> bool:
        """Whether its run has not ended, as far as `poll` has seen."""
        return self._code is None

    def start(self, folder: Path, *, force: bool = False) -> None:
        self._code = None
        request = json.dumps({"folder": str(folder), "force": force})
        with suppress(BrokenPipeError):  # it was killed meanwhile, and its exit code tells
            os.write(_descriptor(self.process.stdin), request.encode() + b"\n")

    def poll(self) -> int | None:
        if self._code is None:
            self._code = 0 if self._is_done() else self.process.poll()
            if self._code:
                self.close()
        return self._code

    def send_signal(self, number: int) -> None:
        self.process.send_signal(number)

    def terminate(self) -> None:
        self.process.terminate()

    def close(self) -> None:
        """Let it end after its run, and wait for that; harmless when called twice."""
        if not self.has_ended:
            self.has_ended = True
            self.process.communicate()
            self._child.kill()

    def kill(self) -> None:
        """End it at once, with all that it has started."""
        self._child.end_group()
        self.close()

    def _is_done(self) -> bool:
        answers = _descriptor(self.process.stdout)
        ready, _, _ = select.select([answers], [], [], 0)
        return bool(ready and os.read(answers, len(DONE)))


def _descriptor(pipe: IO[bytes] | None) -> int:
    """Of a pipe that we asked for; past its buffer, in which `select` sees nothing."""
    assert pipe is not None
    return pipe.fileno()


def main() -> int:
    """In the child: train what is asked for until nobody asks, or a run does not end well."""
    [core] = bind_to_parent()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # Ray blocks Ctrl-C in all that it starts
    os.sched_setaffinity(0, {int(core)})  # libraries count the cores when they are loaded
    answers = os.dup(sys.stdout.fileno())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    try:
        for line in sys.stdin:
            if code := _train(**json.loads(line)):
                return code
            os.write(answers, DONE)
    except BrokenPipeError:  # nobody waits for an answer; the run is whole
        return 0
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


def _train(folder: str, force: bool) -> int:
    from fmarl.engine.run import resume
    from fmarl.launch.exit_codes import RUN_ERRORS, report_error

    show_in_ps(Path(folder).name)
    try:
        return resume(folder, force=force).exit_code
    except RUN_ERRORS as problem:
        return report_error(problem)


if __name__ == "__main__":
    sys.exit(main())
