"""Our side of the benchmark of training: what one process measures on the cores it was given.

| python benchmarks/peers/fmarl_slots.py … | measures |
|---|---|
| `run '{"num_epochs": 20}'` | a whole run, as `fmarl train` does it, with these settings |
| `agents 70 12 250` | 12 slots of 250 steps of 70 agents in a toy world |
| `turns` | slots of the paper's run on request (`turns.py`) |
| `bare` | the same number of steps of the same road on request, and nothing else |

The first two print one JSON object; `--smoke` after the others plays one slot.
"""

import itertools
import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from turns import serve

from fmarl.engine.engine import LocalEngine
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import train
from fmarl.engine.train import Training
from fmarl.rollout import play as worker
from fmarl.rollout import policy as acting
from fmarl.rollout.policy_check import random_parameters
from fmarl.rollout.seeds import epoch_seed
from fmarl.settings_io import from_plain
from fmarl.worlds.registry import make_world
from fmarl.worlds.world import World

SLOT_STEPS = 250
WARM_UP = 2
"""Slots that are not measured: the first one compiles."""


class Moment(NamedTuple):
    """All clocks between two slots."""

    wall: float
    learner: float
    """CPU seconds of this process."""
    workers: float
    """CPU seconds of the processes of all its worlds."""

    @property
    def cpu(self) -> float:
        """Of learner and workers."""
        return self.learner + self.workers

    def since(self, before: "Moment") -> "Moment":
        """What has passed on each clock."""
        return Moment(*(late - early for late, early in zip(self, before, strict=True)))


def now() -> Moment:
    """Read all clocks."""
    me = os.getpid()
    children = Path(f"/proc/{me}/task/{me}/children").read_text().split()
    workers = sum(_cpu_seconds(int(child)) for child in children)
    return Moment(time.perf_counter(), time.process_time(), workers)


class Line(NamedTuple):
    """A line of metrics, and when it was written."""

    kind: str
    update_count: int
    moment: Moment


def run(settings: dict[str, Any]) -> dict[str, float]:
    """Train, and say what a slot, a test and the start cost; the start includes all compiling."""
    spent: dict[str, float] = defaultdict(float)
    lines: list[Line] = []

    def listen(line: dict[str, Any]) -> None:
        lines.append(Line(line["kind"], line["update_count"], now()))
        if line["epoch"] <= 1:
            spent.clear()

    for name in ("play", "learn"):
        _watch(LocalEngine, name, spent)
    with TemporaryDirectory() as folder:
        train(from_plain(Experiment, settings), Path(folder) / "run", listen=listen)
    return _costs(lines, spent)


def agents(count: int, slots: int, slot_steps: int) -> dict[str, float]:
    """What a transition of one agent costs among so many, and what memory the learner takes."""
    options = (f"num_agents={count}", f"epoch_steps={slot_steps}")
    experiment = Experiment(
        world="toy-bumpy", set=options, steps_per_update=slot_steps, test_every=0
    )
    with Training(experiment) as training:
        _play(training, WARM_UP)
        before = now()
        _play(training, slots)
        taken = now().since(before)
    transitions = count * slot_steps * slots
    return {
        "learner_cpu_us_per_transition": taken.learner / transitions * 1e6,
        "worker_cpu_us_per_transition": taken.workers / transitions * 1e6,
        "peak_rss_mib": _peak_rss_mib(),
    }


def turns() -> None:
    """Play slots of the paper's run on request."""
    with Training(Experiment(test_every=0)) as training:
        serve(lambda slots: _play(training, slots), lambda: now().cpu)


def bare() -> None:
    """Step through actions that were played before, on request."""
    with make_world("figure-eight") as world:
        seed, actions = _recording(world)

        def step(slots: int) -> None:
            world.reset(seed)
            for action in actions[: slots * SLOT_STEPS]:
                world.step(action)

        serve(step)


def _recording(world: World, run_seed: int = 0) -> tuple[int, np.ndarray]:
    """What agents that have learned nothing do in an epoch that has no accident, and its seed."""
    policy = acting.Policy("sampled", random_parameters(world.spec))
    player = worker.start(world, run_seed)
    batch = worker.play_slot(player, policy, 0, world.spec.epoch_steps - 1)
    if batch.over.any():
        return _recording(world, run_seed + 1)
    return epoch_seed(run_seed, 0, 0), acting.clipped(batch.action, world.spec)


def _play(training: Training, slots: int) -> None:
    for _ in range(slots):
        list(training.advance())


def _costs(lines: Sequence[Line], spent: dict[str, float]) -> dict[str, float]:
    """Means over all but the first epoch, and what came before beyond such an epoch and test."""
    first = next(place for place, line in enumerate(lines) if line.kind == "epoch")
    begun, slots = lines[first].moment, lines[-1].update_count - lines[first].update_count
    epochs, tests = (_stretches(lines[first:], kind) for kind in ("epoch", "test"))
    slot, test = _mean(epochs, slots), _mean(tests, len(tests))
    played, tested = lines[first].update_count, sum(line.kind == "test" for line in lines[:first])
    return {
        "start_wall_seconds": _age(begun) - played * slot.wall - tested * test.wall,
        "start_cpu_seconds": begun.cpu - played * slot.cpu - tested * test.cpu,
        "slot_wall_ms": slot.wall * 1e3,
        "slot_worker_cpu_ms": slot.workers * 1e3,
        "slot_learner_cpu_ms": slot.learner * 1e3,
        "slot_learner_playing_cpu_ms": spent["play"] / slots * 1e3,
        "slot_learner_learning_cpu_ms": spent["learn"] / slots * 1e3,
        "test_wall_ms": test.wall * 1e3,
        "test_worker_cpu_ms": test.workers * 1e3,
        "test_learner_cpu_ms": test.learner * 1e3,
        "peak_rss_mib": _peak_rss_mib(),
    }


def _stretches(lines: Sequence[Line], kind: str) -> list[Moment]:
    """What passed before each line of a kind, since the line before it."""
    pairs = itertools.pairwise(lines)
    return [late.moment.since(early.moment) for early, late in pairs if late.kind == kind]


def _mean(stretches: Sequence[Moment], count: int) -> Moment:
    """What one of so many slots or tests took; nothing if there were none."""
    if not stretches:
        return Moment(0.0, 0.0, 0.0)
    return Moment(*(sum(clock) / count for clock in zip(*stretches, strict=True)))


def _watch(owner: type, name: str, spent: dict[str, float]) -> None:
    """Have a method count its CPU seconds, whoever calls it."""
    method = getattr(owner, name)

    def watched(*given: Any) -> Any:
        start = time.process_time()
        try:
            return method(*given)
        finally:
            spent[name] += time.process_time() - start

    setattr(owner, name, watched)


def _cpu_seconds(process: int) -> float:
    """What another process has used, from the clock that clock_getcpuclockid(3) names."""
    return time.clock_gettime((~process << 3) | 2)


def _age(moment: Moment) -> float:
    """Seconds from the start of this process to a moment."""
    after_name = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    born = int(after_name[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - born - (time.perf_counter() - moment.wall)


def _peak_rss_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", settings]:
            print(json.dumps(run(json.loads(settings))))
        case ["agents", *sizes]:
            print(json.dumps(agents(*map(int, sizes))))
        case ["turns", *_]:
            turns()
        case ["bare", *_]:
            bare()
        case _:
            raise SystemExit(__doc__)
