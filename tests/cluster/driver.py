"""A driver inside a host, which a test asks one thing after the other: both ends of the talk.

`python driver.py ADDRESS` joins a cluster as fmarl does and stays in it. A line on stdin is a
question, a line on stdout its answer, so a test can cut and heal the network in between.
"""

import json
import select
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import fmarl
from cluster.namespaces import Host
from fmarl.cluster.connect import joined
from fmarl.cluster.hosts import hosts

ANSWER_SECONDS = 300.0
"""A driver that has not answered by then hangs."""


class Driver:
    """The test's end: a driver that runs in a host."""

    def __init__(self, host: Host, address: str, **variables: str):
        words = [sys.executable, str(Path(__file__)), address]
        path = str(Path(__file__).parents[1])
        self._process = host.run(words, PYTHONPATH=path, **variables)

    def ask(self, what: str, *given: Any) -> Any:
        """The answer of the method of `Answers` of that name."""
        to, back = self._process.stdin, self._process.stdout
        assert to and back
        with suppress(BrokenPipeError):  # then it has said why on stderr
            to.write(json.dumps([what, *given]) + "\n")
            to.flush()
        came, _, _ = select.select([back], [], [], ANSWER_SECONDS)
        line = back.readline() if came else ""
        if not line:
            self._process.kill()
            raise RuntimeError(f"no answer to {what}: {self._process.communicate()[1][-2000:]}")
        return json.loads(line)


class Counter:
    """An actor that knows how often it was asked, and where it is."""

    def __init__(self):
        self._count = 0

    def count(self) -> int:
        self._count += 1
        return self._count

    def address(self) -> str:
        import ray

        return ray.util.get_node_ip_address()

    def version(self) -> str:
        return fmarl.__version__


class Answers:
    """The cluster's end: what can be asked of a driver."""

    def __init__(self):
        self._counters: dict[str, Any] = {}
        self._promise: Any = None

    def hosts(self) -> list[str]:
        """Addresses of all hosts that Ray believes to be up."""
        return sorted(host.address for host in hosts())

    def spread(self, count: int) -> list[str]:
        """Where that many actors are, which take a core each and live at the same time."""
        import ray

        counters = [_counter(1, "SPREAD") for _ in range(count)]
        return sorted(ray.get([counter.address.remote() for counter in counters]))

    def place(self, address: str) -> int:
        """Have a counter on a host; its first count."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        [there] = [host.node_id for host in hosts() if host.address == address]
        pinned = NodeAffinitySchedulingStrategy(there, soft=False)
        self._counters[address] = _counter(0, pinned)
        return ray.get(self._counters[address].count.remote())

    def version(self, address: str) -> str:
        """That of fmarl at the counter on a host."""
        import ray

        return ray.get(self._counters[address].version.remote())

    def call(self, address: str) -> None:
        """Have the counter on a host count, and wait for nothing."""
        self._promise = self._counters[address].count.remote()

    def outcome(self, seconds: float) -> int | str | None:
        """The last call's count, or the name of what went wrong; None if neither came in time."""
        import ray
        from ray.exceptions import RayError

        ready, _ = ray.wait([self._promise], timeout=seconds)
        if not ready:
            return None
        try:
            return ray.get(self._promise)
        except RayError as problem:
            return type(problem).__name__


def _counter(cores: int, where: Any) -> Any:
    import ray

    made: Any = ray.remote(Counter)
    return made.options(num_cpus=cores, scheduling_strategy=where).remote()


def _answer_all(questions: TextIO, answers: TextIO) -> None:
    known = Answers()
    for line in questions:
        what, *given = json.loads(line)
        answers.write(json.dumps(getattr(known, what)(*given)) + "\n")
        answers.flush()


if __name__ == "__main__":
    answers, sys.stdout = sys.stdout, sys.stderr  # Ray tells of lost nodes on stdout
    with joined(sys.argv[1]):
        _answer_all(sys.stdin, answers)
