"""Scripts of this folder as training.py runs them: on given cores, alone or in turns.

In turns, whatever else the machine does disturbs all of them alike (`turns.py` is their side).
"""

import json
import os
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from peers.environments import variables

HERE = Path(__file__).parent


class Script(NamedTuple):
    """A script of this folder while it runs."""

    name: str
    process: subprocess.Popen[str]
    said: IO[str]
    """Where its warnings and errors go."""

    def failure(self) -> SystemExit:
        """What to raise when it has ended without an answer."""
        code = self.process.wait()
        self.said.seek(0)
        *_, why = ["it said nothing", *self.said.read().splitlines()]
        return SystemExit(f"benchmarks/peers/{self.name} ended with code {code}: {why}")


@contextmanager
def running(words: Sequence[str], cores: Collection[int]) -> Iterator[Script]:
    """Run a script, given as interpreter, name and arguments, on some cores."""
    python, name, *given = words
    with (
        TemporaryFile("w+") as said,
        subprocess.Popen(
            [python, str(HERE / name), *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=variables(),
            text=True,
        ) as process,
    ):
        os.sched_setaffinity(process.pid, cores)  # long before it has any other thread
        yield Script(name, process, said)


def answer(words: Sequence[str], cores: Collection[int]) -> dict[str, float]:
    """The JSON object that a script prints as its last line."""
    with running(words, cores) as script:
        printed, _ = script.process.communicate()
        if script.process.returncode != 0:
            raise script.failure()
        return json.loads(printed.splitlines()[-1])


def cpu_seconds(script: Script, slots: int) -> float:
    """Have a script that serves play some slots, and say what that took."""
    assert script.process.stdin is not None and script.process.stdout is not None
    script.process.stdin.write(f"{slots}\n")
    script.process.stdin.flush()
    for line in script.process.stdout:
        if line.startswith('{"cpu_seconds"'):  # libraries print lines of their own
            return json.loads(line)["cpu_seconds"]
    raise script.failure()
