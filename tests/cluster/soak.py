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
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # tests find each other from there

from cluster.engines import absences, in_one_process, longer, toy
from cluster.holdings import Sample, Watch, lives
from cluster.mishaps import AGENTS, ROUNDS, TELLING, Sort, drawn
from fmarl.cluster.faults.plan import Fault, FaultPlan
from fmarl.cluster.ray_engine import RayEngine
from fmarl.cluster.settings import ClusterSettings
from fmarl.engine.experiment import Experiment
from fmarl.engine.train import begin, resume
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

MOST_GROWTH = 10.0
"""MiB in 1,000 periods. One agent with its optimiser, kept by mistake each time, would be 100. The
conductor was seen to grow by 8 where 100 actors were replaced, and not at all where none was."""
MOST_MORE_FILES = 2
LEARNING_RATE = 1e-4
"""So small that agents have not learned all there is before the end: parameters that stand still
would agree with any oracle."""


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

    def make_engine(experiment: Experiment, run_id: str) -> RayEngine:
        engines.append(RayEngine(experiment, run_id, ClusterSettings(plan=plan)))
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
