"""What training costs beside the simulation it needs, and beside other learners. Run: make bench.

Prints ratios measured in this one run, because the machines are shared, and CPU seconds rather than
seconds wherever both sides do the same work; `--json` prints one object.

| option | also measures |
|---|---|
| none, or `--quick` | one run of the paper, shortened; how cost grows with agents: two minutes |
| `--full` | memory by agents, how to spread runs over cores, the paper's Table IV, shortened |
| `--table-epochs N` | Table IV with N epochs of each of its 13 runs |
| `--peers` | Stable-Baselines3 and RLlib, each in an environment that is made for it |
"""

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from peers.environments import PEERS, python_of
from peers.turns import answer, cpu_seconds, running

from fmarl.engine.experiment import Experiment
from fmarl.records.run_description import installed_versions
from fmarl.reproduce import paper

Figures = dict[str, float]

CORES = sorted(os.sched_getaffinity(0))[:2]
EPOCHS = 20
"""Of a run that stands for one of 500."""
SLOTS = paper.NUM_EPOCHS * paper.EPOCH_STEPS // paper.STEPS_PER_UPDATE
TESTS = paper.NUM_EPOCHS // Experiment().test_every + 1
"""Of a whole run: every few epochs, and before the first."""
TOY_SLOTS = {7: 60, 70: 12, 700: 3}
"""How many slots are measured of so many agents."""
ROUNDS, TURN_SLOTS = 5, 5
OURS = [sys.executable, "ours.py", "turns"]

MOST, LEAST = "at most", "at least"
TARGETS = {
    "total_to_simulation": (MOST, 1.6),
    "stable_baselines3_to_fmarl": (LEAST, 40),
    "rllib_to_fmarl": (LEAST, 40),
    "cost_per_transition_700_to_7_agents": (MOST, 1),
    "learners_cost_per_transition_700_to_7_agents": (MOST, 1),
}
"""Figures that somebody has set a goal for."""


def measured(*words: str, cores: Collection[int] = CORES[:1]) -> Figures:
    """What a new process of ours finds (peers/ours.py)."""
    return answer([sys.executable, "ours.py", *words], cores)


def trained(cores: Collection[int] = CORES[:1], **settings: Any) -> Figures:
    """What a run costs whose settings are the paper's but for these.

    It keeps no samples: eight in so few epochs would be far more than eight in 500.
    """
    return measured("run", json.dumps({"sample_slots": 0, **settings}), cores=cores)


def one_run() -> Figures:
    """The paper's run on one core: what it costs beside what its simulations cost.

    What is scaled says what a run of 500 epochs would give, in which tests are simulations too.
    """
    cold, warm = trained(num_epochs=EPOCHS), trained(num_epochs=2, test_every=0)
    ours, bare = in_turns(OURS, [sys.executable, "ours.py", "bare"])
    worker, test = cold["slot_worker_cpu_ms"], cold["test_worker_cpu_ms"]
    total, tested = worker + cold["slot_learner_cpu_ms"], test + cold["test_learner_cpu_ms"]
    simulation = SLOTS * worker + TESTS * test
    whole = SLOTS * total + TESTS * tested
    parts = cold["slot_learner_playing_cpu_ms"] + cold["slot_learner_learning_cpu_ms"]
    return {
        "total_to_simulation": total / worker,
        "scaled_total_to_simulation_with_tests": whole / simulation,
        "scaled_total_to_simulation_with_tests_and_first_start": (
            (whole + cold["start_cpu_seconds"] * 1e3) / simulation
        ),
        "total_to_bare_world": _ratio(ours, bare),
        **{name: cold[name] for name in cold if name.startswith(("slot", "test"))},
        "slot_learner_rest_cpu_ms": cold["slot_learner_cpu_ms"] - parts,
        "slot_bare_world_cpu_ms": median(bare) * 1e3,
        **{f"first_{name}": cold[name] for name in cold if name.startswith(("start", "peak"))},
        **{f"next_{name}": warm[name] for name in warm if name.startswith(("start", "peak"))},
    }


def agents() -> Figures:
    """What a transition costs among 7 and among 700 agents of a toy world."""
    few, many = (measured("agents", str(m), str(TOY_SLOTS[m])) for m in (7, 700))
    return _per_transition({7: few, 700: many})


def agents_and_memory() -> Figures:
    """The same for 70 too, with the memory of the learner when nothing is left to compile."""
    words = {m: ("agents", str(m), str(slots)) for m, slots in TOY_SLOTS.items()}
    for each in words.values():
        measured(*each)
    found = {m: measured(*each) for m, each in words.items()}
    few, some, many = (found[m]["peak_rss_mib"] for m in TOY_SLOTS)
    return {
        **_per_transition(found),
        **{f"peak_rss_mib_of_{m}_agents": found[m]["peak_rss_mib"] for m in found},
        "memory_growth_to_linear_growth": (many - few) / (some - few) / ((700 - 7) / (70 - 7)),
    }


def cores() -> Figures:
    """One run alone and two at once, pinned to a core each or free on all, in turns."""
    one, two = CORES[:1], CORES[1:]
    ways = {"alone_pinned": [one], "alone_free": [CORES]}
    ways |= {"two_pinned": [one, two], "two_free": [CORES, CORES]}
    wall: dict[str, list[float]] = {way: [] for way in ways}
    cpu: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, places in ways.items():
            with ThreadPoolExecutor(len(places)) as pool:
                runs = list(pool.map(_untested, places))
            wall[way].append(median(run["slot_wall_ms"] for run in runs))
            cpu[way].append(
                median(run["slot_learner_cpu_ms"] + run["slot_worker_cpu_ms"] for run in runs)
            )
    typical = {way: median(times) for way, times in wall.items()}
    alone = typical["alone_free"]
    return {
        "speed_of_two_pinned_to_one_after_another": 2 * alone / typical["two_pinned"],
        "speed_of_two_free_to_one_after_another": 2 * alone / typical["two_free"],
        "speed_of_one_pinned_to_one_free": alone / typical["alone_pinned"],
        **{f"{way}_slot_wall_ms": typical[way] for way in ways},
        **{f"{way}_slot_cpu_ms": median(cpu[way]) for way in ways},
    }


def table(epochs: int) -> Figures:
    """The 13 runs of Table IV, one per core at a time, and how long they would take in full."""
    free: SimpleQueue[int] = SimpleQueue()
    for core in CORES:
        free.put(core)

    def when_free(settings: dict[str, Any]) -> Figures:
        core = free.get()
        try:
            return trained([core], num_epochs=epochs, **settings)
        finally:
            free.put(core)

    begun = time.perf_counter()
    with ThreadPoolExecutor(len(CORES)) as pool:
        runs = list(pool.map(when_free, map(_settings, paper.TABLE_4)))
    taken = time.perf_counter() - begun
    starts = sum(run["start_wall_seconds"] for run in runs)
    slots = sum(run["slot_wall_ms"] for run in runs) / 1e3 * SLOTS
    tests = sum(run["test_wall_ms"] for run in runs) / 1e3 * TESTS
    whole = starts + slots + tests
    rounds = math.ceil(len(runs) / len(CORES))
    return {
        f"measured_wall_seconds_of_{epochs}_epochs": taken,
        f"scaled_wall_minutes_of_{paper.NUM_EPOCHS}_epochs": (whole / len(runs) * rounds / 60),
        "scaled_share_of_starts": starts / whole,
        "scaled_share_of_slots": slots / whole,
        "scaled_share_of_tests": tests / whole,
    }


def against(name: str, python: str) -> Figures:
    """CPU of a slot of somebody else's learners and of ours."""
    ours, theirs = in_turns(OURS, [python, PEERS[name].script])
    return {
        f"{name}_to_fmarl": _ratio(theirs, ours),
        f"{name}_slot_cpu_ms": median(theirs) * 1e3,
        f"fmarl_slot_cpu_ms_beside_{name}": median(ours) * 1e3,
    }


def in_turns(one: Sequence[str], other: Sequence[str]) -> tuple[list[float], list[float]]:
    """CPU seconds of a slot of two scripts on one core, once per round."""
    found: tuple[list[float], list[float]] = ([], [])
    with running(one, CORES[:1]) as first, running(other, CORES[:1]) as second:
        for _ in range(1 + ROUNDS):
            for script, taken in zip((first, second), found, strict=True):
                taken.append(cpu_seconds(script, TURN_SLOTS) / TURN_SLOTS)
    return found[0][1:], found[1][1:]  # the first round warms up and compiles


def _ratio(one: Sequence[float], other: Sequence[float]) -> float:
    return median(mine / yours for mine, yours in zip(one, other, strict=True))


def _per_transition(found: dict[int, Figures]) -> Figures:
    cost = {
        m: each["learner_cpu_us_per_transition"] + each["worker_cpu_us_per_transition"]
        for m, each in found.items()
    }
    learner = {m: each["learner_cpu_us_per_transition"] for m, each in found.items()}
    return {
        "cost_per_transition_700_to_7_agents": cost[700] / cost[7],
        "learners_cost_per_transition_700_to_7_agents": learner[700] / learner[7],
        **{f"cpu_us_per_transition_of_{m}_agents": cost[m] for m in cost},
    }


def _untested(place: Collection[int]) -> Figures:
    return trained(place, num_epochs=EPOCHS, test_every=0)


def _settings(row: paper.TableRow) -> dict[str, Any]:
    """A row of Table IV as settings of an experiment."""
    together: dict[str, Any] = {
        "method": {"FIRL": "periodic", "FIRL_D": "decay", "FIRL_C": "consensus"}[row.method],
        "sync_period": row.sync_period,
        "local_updates": ",".join(map(str, row.local_updates)),
    }
    if row.method == "FIRL_D":
        together["decay_rate"] = row.decay_rate
    if row.graph:
        together |= {"graph": row.graph, "consensus_rounds": row.consensus_rounds}
    return {"together": together}


def machine() -> dict[str, Any]:
    """What the figures were measured on, and how busy it was with other things."""
    named = [
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return {
        "processor": named[0].partition(": ")[2] if named else platform.machine(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "versions": installed_versions(),
    }


def chosen(options: argparse.Namespace) -> dict[str, Callable[[], Figures]]:
    """What to measure, by title."""
    parts: dict[str, Callable[[], Figures]] = {"one_run": one_run}
    parts["agents"] = agents_and_memory if options.full else agents
    if options.peers:
        parts |= {name: partial(against, name, python_of(name)) for name in PEERS}
    if options.full and len(CORES) > 1:
        parts["cores"] = cores
    if options.full or options.table_epochs:
        parts["table_4"] = partial(table, options.table_epochs or EPOCHS)
    return parts


def show(title: str, figures: Figures) -> None:
    """Print a part, each figure with its goal if it has one."""
    print(title.replace("_", " "))
    if title in PEERS:
        print(f"  differs from ours: {PEERS[title].differs}")
    for name, number in figures.items():
        way, goal = TARGETS.get(name, ("", 0))
        hint = f"  ({way} {goal:g} wanted)" if way else ""
        print(f"  {name.replace('_', ' '):55} {number:10.3f}{hint}")


def main(words: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for flag in ("--quick", "--full", "--peers", "--json"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--table-epochs", type=int, default=0)
    options = parser.parse_args(words)
    found, parts = {"machine": machine()}, chosen(options)
    with TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache  # so that the first run has everything to compile
        for title, part in parts.items():
            found[title] = part()
            if not options.json:
                show(title, found[title])
    if options.json:
        found["differences"] = {name: PEERS[name].differs for name in PEERS if name in found}
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main(sys.argv[1:])
