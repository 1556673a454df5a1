"""What the queue says of a run that has ended."""

import signal

import pytest

from fmarl.launch.queue import QueuedRun
from fmarl.records.jsonl import LineWriter
from fmarl.records.run_folder import RunFolder
from unit.engine.small_experiments import toy


class Ended:
    """A launched run that has ended by the time it is looked at."""

    def __init__(self, code: int) -> None:
        self.code = code

    def poll(self) -> int:
        return self.code

    def send_signal(self, number: int) -> None: ...

    def terminate(self) -> None: ...


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (0, "done"),
        (7, "failed: KeyError: 'channel' (channels.py:3)"),
        (-signal.SIGKILL, "stopped"),
    ],
)
def test_a_run_that_failed_says_why(code, state, tmp_path):
    with LineWriter(RunFolder(tmp_path).events) as events:
        failure = {"type": "KeyError", "message": "'channel'", "place": "channels.py:3"}
        events.append({"code": "FAILED", **failure})
    run = QueuedRun(tmp_path, "run", toy())
    run.launched = Ended(code)
    run.poll()
    assert run.status.state == state
