"""`make soak`: thousands of periods on real Ray, and something goes wrong every few seconds.

    python tests/cluster/soak.py [--periods 2000] [--seed 0]

What goes wrong is drawn from the seed before the run begins. When it is over, everything that was
planned must be among the run's events, as often as it was planned, and nothing else; its bits must
be those of one process in which the agents were away that the events name; and the processes that
lived long must hold no more memory and no more open files than they did early on. Otherwise the
exit code is 1.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # tests find each other from there

from cluster.engines import SYNC_PERIOD, absences, in_one_process, longer, toy
from fmarl.cluster.conductor import OnRay
from fmarl.cluster.faults import POINTS, Fault, FaultPlan
from fmarl.cluster.settings import ClusterSettings
from fmarl.engine.experiment import Experiment
from fmarl.engine.train import begin, resume
from fmarl.records.lines import read_lines
from fmarl.records.run_folder import RunFolder, read_run

AGENTS, ROUNDS = 4, 2
PERIODS_PER_FAULT = 20
"""Of each of the two sorts: processes that are killed, and uploads that are of no use."""
KILLING_SHARE = 0.7
"""Of the run, in which processes are killed; in the rest all grow old enough to be measured."""
SAMPLE_PERIODS = 10
WARM_UP_PERIODS = 100
"""Of a process's life, in which it still takes what it needs."""
LEAST_SAMPLES = 20
"""Without so many after that, nothing is said of a process."""
MOST_GROWTH = 5.0
"""MiB in 1,000 periods. One agent with its optimiser, kept by mistake each time, would be 100."""
MOST_MORE_FILES = 2
LEARNING_RATE = 1e-4
"""So small that agents have not learned all there is before the end: parameters that stand still
would agree with any oracle."""

Draw = Callable[[Random, int], Sequence[Fault]]


class Sort(NamedTuple):
    """A way to go wrong."""

    name: str
    sign: str
    """The code of the event that tells of it."""
    draw: Draw
    """The faults of one period."""


class Sample(NamedTuple):
    """What a process held when a period was over."""

    who: str
    pid: int
    period: int
    mebibytes: float
    files: int


class Soaked(NamedTuple):
    """A run as it ended, and how it should have."""

    faults: list[tuple[Sort, Sequence[Fault]]]
    events: list[dict[str, Any]]
    samples: list[Sample]
    is_finite: bool
    gradient_norm: float
    """In the last epoch."""
    digest: str
    oracle: str
    seconds: float
    """Of the run itself."""


def _killed_in_a_slot(draw: Random, period: int) -> Sequence[Fault]:
    return [Fault("kill", period, agent=_mortal(draw), slot=draw.randrange(SYNC_PERIOD))]


def _killed_in_an_exchange(draw: Random, period: int) -> Sequence[Fault]:
    slot, exchange = draw.randrange(SYNC_PERIOD), draw.randrange(ROUNDS)
    return [Fault("kill", period, agent=_mortal(draw), slot=slot, exchange=exchange)]


def _two_killed(draw: Random, period: int) -> Sequence[Fault]:
    """The second one when the period is played again, for the first may hold it up before."""
    one, other = draw.sample(range(AGENTS - 1), 2)
    slot = draw.randrange(SYNC_PERIOD)
    return [
        Fault("kill", period, agent=one, slot=slot),
        Fault("kill", period, agent=other, slot=slot, attempt=1),
    ]


def _killed_after_upload(draw: Random, period: int) -> Sequence[Fault]:
    return [Fault("kill-after-upload", period, agent=_mortal(draw))]


def _world_killed(draw: Random, period: int) -> Sequence[Fault]:
    return [Fault("kill", period, world=0, slot=draw.randrange(SYNC_PERIOD))]


def _virtual_killed(draw: Random, period: int) -> Sequence[Fault]:
    return [Fault("kill", period, virtual=True, point=draw.choice(POINTS))]


def _sent(do: str) -> Draw:
    return lambda draw, period: [Fault(do, period, agent=draw.randrange(AGENTS))]


def _mortal(draw: Random) -> int:
    """All but the last agent, which is there from beginning to end, to be measured."""
    return draw.randrange(AGENTS - 1)


KILLS = (
    Sort("agent killed in a slot", "AGENT_LOST", _killed_in_a_slot),
    Sort("world killed", "WORLD_LOST", _world_killed),
    Sort("virtual agent killed", "VIRTUAL_LOST", _virtual_killed),
    Sort("agent killed after its upload", "AGENT_REVIVED", _killed_after_upload),
    Sort("agent killed in an exchange", "AGENT_LOST", _killed_in_an_exchange),
    Sort("two agents killed in a period", "AGENT_LOST", _two_killed),
)
USELESS = (
    Sort("NaN uploaded", "NONFINITE", _sent("nan")),
    Sort("uploaded twice", "DUPLICATE", _sent("duplicate")),
    Sort("float64 uploaded", "BAD_PAYLOAD", _sent("float64")),
    Sort("last upload sent again", "STALE", _sent("stale")),
)
TELLING = {sort.sign for sort in (*KILLS, *USELESS)} | {
    "AGENT_LATE",
    "AGENT_QUARANTINED",
    "PERIOD_ABANDONED",
    "PERIOD_FAILED",
}
"""Codes that are to be among the events as often as planned; some never."""


def drawn(periods: int, seed: int) -> list[tuple[Sort, Sequence[Fault]]]:
    """What goes wrong in a run, in order.

    Every other period is spared: nobody sends three useless uploads in a row, for which it would be
    out, and who is killed after an upload meets no other fault as it comes back.
    """
    draw, count = Random(seed), max(periods // PERIODS_PER_FAULT, 1)
    kill_at = draw.sample(range(1, int(periods * KILLING_SHARE), 2), count)
    others = sorted(set(range(1, periods - 1, 2)).difference(kill_at))
    pairs = [
        *zip(kill_at, _in_turn(KILLS, count), strict=True),
        *zip(draw.sample(others, count), _in_turn(USELESS, count), strict=True),
    ]
    return [(sort, sort.draw(draw, period)) for period, sort in sorted(pairs)]


def _in_turn(sorts: Sequence[Sort], count: int) -> list[Sort]:
    return [sorts[number % len(sorts)] for number in range(count)]


class Watch:
    """Looks at the processes of a run each time that it has lived some periods. A listener."""

    def __init__(self, folder: Path) -> None:
        self._events = RunFolder(folder).events
        self._pids = {"conductor": "self"}
        self._read_to = 0
        self.samples: list[Sample] = []
        self.gradient_norm = 0.0

    def __call__(self, line: dict[str, Any]) -> None:
        """Hear a line of metrics."""
        self.gradient_norm = line.get("gradient_norm", 0.0)
        period, slot = divmod(line["update_count"], SYNC_PERIOD)
        if slot == 0 and period % SAMPLE_PERIODS == 0:
            self._hear_events()
            self.samples += [_sample(who, pid, period) for who, pid in self._pids.items()]

    def _hear_events(self) -> None:
        lines = read_lines(self._events, self._read_to)
        self._read_to = lines.position
        for event in lines.records:
            if event["code"] == "ACTOR_STARTED":
                self._pids[_name(event)] = str(event["pid"])


def _name(event: dict[str, Any]) -> str:
    if "agents" in event:
        return f"agent {event['agents'][0]}"
    return "world" if "world" in event else "virtual agent"


def _sample(who: str, pid: str, period: int) -> Sample:
    home = Path("/proc", pid)
    status = dict(
        line.split(":", 1) for line in (home / "status").read_text().splitlines() if ":" in line
    )
    mebibytes = int(status["VmRSS"].split()[0]) / 1024
    return Sample(who, int(status["Pid"]), period, mebibytes, len(list((home / "fd").iterdir())))


def soak(folder: Path, periods: int, seed: int) -> Soaked:
    """Run it, and the oracle after it."""
    experiment = longer(
        toy(
            AGENTS,
            method="consensus",
            graph="ring",
            consensus_rounds=ROUNDS,
            learning_rate=LEARNING_RATE,
        ),
        periods,
    )
    faults = drawn(periods, seed)
    path = begin(experiment, folder / "ray")
    plan = FaultPlan(tuple(fault for _, some in faults for fault in some))
    watch, engines = Watch(path), []

    def make_engine(experiment: Experiment) -> OnRay:
        engines.append(OnRay(experiment, ClusterSettings(plan=plan), read_run(path)["run_id"]))
        return engines[-1]

    begun = time.monotonic()
    run = resume(path, listen=watch, make_engine=make_engine)
    seconds = time.monotonic() - begun
    events = read_lines(RunFolder(path).events).records
    oracle = in_one_process(folder / "alone", experiment, absences(events))
    return Soaked(
        faults=faults,
        events=events,
        samples=watch.samples,
        is_finite=bool(np.isfinite(engines[0].at_rest().state.parameters).all()),
        gradient_norm=watch.gradient_norm,
        digest=run.digest,
        oracle=oracle.digest,
        seconds=seconds,
    )


class Life(NamedTuple):
    """A process that lived long, after its warm-up."""

    who: str
    periods: int
    mebibytes: float
    """In the end."""
    growth: float
    """MiB in 1,000 periods, by least squares."""
    files: tuple[int, int]
    """Early and late."""


def lives(samples: Sequence[Sample]) -> list[Life]:
    """The processes of which there are samples enough."""
    found = []
    for process in dict.fromkeys((sample.who, sample.pid) for sample in samples):
        own = [sample for sample in samples if (sample.who, sample.pid) == process]
        grown = [one for one in own if one.period >= own[0].period + WARM_UP_PERIODS]
        if len(grown) >= LEAST_SAMPLES:
            found.append(_life(grown))
    return found


def _life(samples: Sequence[Sample]) -> Life:
    at, held = ([getattr(one, name) for one in samples] for name in ("period", "mebibytes"))
    files = [sample.files for sample in samples]
    quarter = len(files) // 4
    return Life(
        who=samples[0].who,
        periods=at[-1] - at[0],
        mebibytes=held[-1],
        growth=1000 * float(np.polyfit(at, held, 1)[0]),
        files=(int(np.median(files[:quarter])), int(np.median(files[-quarter:]))),
    )


def counts(soaked: Soaked) -> dict[str, tuple[int, int]]:
    """How often each telling event was planned, and how often it came."""
    planned = Counter(sort.sign for sort, faults in soaked.faults for _ in faults)
    seen = Counter(event["code"] for event in soaked.events)
    return {code: (planned[code], seen[code]) for code in sorted(TELLING)}


def problems(soaked: Soaked) -> list[str]:
    """All that is not as it should be."""
    found = [
        f"{code}: {planned} planned, {seen} seen"
        for code, (planned, seen) in counts(soaked).items()
        if planned != seen
    ]
    for life in lives(soaked.samples):
        if life.growth > MOST_GROWTH:
            found.append(f"{life.who} grows by {life.growth:.1f} MiB in 1,000 periods")
        if life.files[1] > life.files[0] + MOST_MORE_FILES:
            found.append(f"{life.who} holds {life.files[1]} files open, and {life.files[0]} before")
    if not soaked.is_finite:
        found.append("parameters are not finite")
    if soaked.gradient_norm == 0:
        found.append("nothing was learned in the end: the oracle says little")
    if soaked.digest != soaked.oracle:
        found.append(f"ended with {soaked.digest}, and the oracle with {soaked.oracle}")
    return found


def told(soaked: Soaked) -> list[str]:
    """The whole story, as lines."""
    sorts = Counter(sort.name for sort, _ in soaked.faults)
    lines = [f"{len(soaked.faults)} faults in {soaked.seconds:.0f} s"]
    lines += [f"  {name:32}{count:6}" for name, count in sorts.items()]
    lines += ["event                              planned   seen"]
    lines += [f"  {code:32}{plan:8}{seen:7}" for code, (plan, seen) in counts(soaked).items()]
    lines += ["process            periods      MiB   MiB per 1,000 periods   files early, late"]
    lines += [
        f"  {life.who:14}{life.periods:10}{life.mebibytes:9.0f}{life.growth:24.2f}"
        f"{life.files[0]:14}{life.files[1]:6}"
        for life in lives(soaked.samples)
    ]
    return [*lines, f"sha256 {soaked.digest}", f"oracle {soaked.oracle}"]


def main(words: Sequence[str]) -> int:
    """Run, tell, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--periods", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    with TemporaryDirectory() as folder:
        soaked = soak(Path(folder), options.periods, options.seed)
    wrong = problems(soaked)
    sys.stdout.write("\n".join([*told(soaked), *wrong, "FAILED" if wrong else "passed"]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
