"""`make soak`: thousands of periods on real Ray, and something goes wrong every few seconds.

    python tests/cluster/soak.py [--periods 2000] [--seed 0]

What goes wrong is drawn from the seed before the run begins. When it is over, everything that was
planned must be among the run's events, as often as it was planned, and nothing else; its bits must
be those of one process in which the agents were absent that the events name; and the processes that
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

from cluster.engines import DEADLINE_SECONDS, absences, in_one_process, longer, toy
from cluster.process_samples import ProcessMonitor, Sample, trends
from cluster.soak_faults import AGENTS, COUNTED_CODES, ROUNDS, FaultKind, draw_faults
from fmarl.cluster.faults.injector import FaultInjector
from fmarl.cluster.faults.plan import Fault, FaultPlan
from fmarl.cluster.ray_engine import RayEngine
from fmarl.cluster.settings import ClusterSettings
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin, resume
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

MOST_GROWTH = 10.0
"""MiB in 1,000 periods. One agent with its optimiser, kept by mistake each time, would be 100. The
driver was seen to grow by 8 where 100 actors were replaced, and not at all where none was."""
MOST_MORE_FILES = 2
LEARNING_RATE = 1e-4
"""So small that agents have not learned all there is before the end: parameters that stand still
would agree with any oracle."""


class SoakResult(NamedTuple):
    """A run as it ended, and how it should have."""

    faults: list[tuple[FaultKind, Sequence[Fault]]]
    events: list[dict[str, Any]]
    samples: list[Sample]
    is_finite: bool
    gradient_norm: float
    """In the last epoch."""
    digest: str
    oracle: str
    seconds: float
    """Of the run itself."""


def soak(folder: Path, periods: int, seed: int) -> SoakResult:
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
    faults = draw_faults(periods, seed)
    path = begin(experiment, folder / "ray")
    plan = FaultPlan(tuple(fault for _, some in faults for fault in some))
    monitor, engines = ProcessMonitor(path), []

    settings = ClusterSettings(faults=FaultInjector(plan), deadline_seconds=DEADLINE_SECONDS)

    def make_engine(experiment: Experiment, run_id: str) -> RayEngine:
        engines.append(RayEngine(experiment, run_id, settings))
        return engines[-1]

    begun = time.monotonic()
    run = resume(path, listen=monitor, make_engine=make_engine)
    seconds = time.monotonic() - begun
    events = read_lines(RunFolder(path).events).records
    oracle = in_one_process(folder / "alone", experiment, absences(events))
    return SoakResult(
        faults=faults,
        events=events,
        samples=monitor.samples,
        is_finite=bool(np.isfinite(engines[0].state().learned.parameters).all()),
        gradient_norm=monitor.gradient_norm,
        digest=run.digest,
        oracle=oracle.digest,
        seconds=seconds,
    )


def counts(result: SoakResult) -> dict[str, tuple[int, int]]:
    """How often each counted event was planned, and how often it came."""
    planned = Counter(kind.code for kind, faults in result.faults for _ in faults)
    seen = Counter(event["code"] for event in result.events)
    return {code: (planned[code], seen[code]) for code in sorted(COUNTED_CODES)}


def problems(result: SoakResult) -> list[str]:
    """All that is not as it should be."""
    found = [
        f"{code}: {planned} planned, {seen} seen"
        for code, (planned, seen) in counts(result).items()
        if planned != seen
    ]
    for trend in trends(result.samples):
        if trend.growth > MOST_GROWTH:
            found.append(f"{trend.who} grows by {trend.growth:.1f} MiB in 1,000 periods")
        if trend.files[1] > trend.files[0] + MOST_MORE_FILES:
            found.append(
                f"{trend.who} holds {trend.files[1]} files open, and {trend.files[0]} before"
            )
    if not result.is_finite:
        found.append("parameters are not finite")
    if result.gradient_norm == 0:
        found.append("nothing was learned in the end: the oracle says little")
    if result.digest != result.oracle:
        found.append(f"ended with {result.digest}, and the oracle with {result.oracle}")
    return found


def report_lines(result: SoakResult) -> list[str]:
    """The report, as lines."""
    kinds = Counter(kind.name for kind, _ in result.faults)
    lines = [f"{len(result.faults)} faults in {result.seconds:.0f} s"]
    lines += [f"  {name:32}{count:6}" for name, count in kinds.items()]
    lines += ["event                              planned   seen"]
    lines += [f"  {code:32}{plan:8}{seen:7}" for code, (plan, seen) in counts(result).items()]
    lines += ["process            periods      MiB   MiB per 1,000 periods   files early, late"]
    lines += [
        f"  {trend.who:14}{trend.periods:10}{trend.mebibytes:9.0f}{trend.growth:24.2f}"
        f"{trend.files[0]:14}{trend.files[1]:6}"
        for trend in trends(result.samples)
    ]
    return [*lines, f"sha256 {result.digest}", f"oracle {result.oracle}"]


def main(words: Sequence[str]) -> int:
    """Run, report, check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--periods", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    with TemporaryDirectory() as folder:
        result = soak(Path(folder), options.periods, options.seed)
    wrong = problems(result)
    sys.stdout.write(
        "\n".join([*report_lines(result), *wrong, "FAILED" if wrong else "passed"]) + "\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
