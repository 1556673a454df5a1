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
import importlib.util
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
from typing import Any, NamedTuple

from _figures import Figures, Goal, parser, show, show_json
from peers.environments import python_of
from peers.scripts import answer, cpu_seconds, running

from fmarl.engine.experiment import Experiment
from fmarl.records.run_description import installed_versions
from fmarl.reproduce import paper

CORES = sorted(os.sched_getaffinity(0))[:2]
SLOTS = paper.NUM_EPOCHS * paper.EPOCH_STEPS // paper.STEPS_PER_UPDATE
TESTS = paper.NUM_EPOCHS // Experiment().test_every + 1
"""Of a whole run: every few epochs, and before the first."""
OURS = [sys.executable, "fmarl_slots.py", "turns"]
GOALS = {
    "total_to_simulation": Goal("at most", 1.6),
    "stable_baselines3_to_fmarl": Goal("at least", 40),
    "rllib_to_fmarl": Goal("at least", 40),
    "cost_per_transition_700_to_7_agents": Goal("at most", 1),
    "learners_cost_per_transition_700_to_7_agents": Goal("at most", 1),
}


class Sizes(NamedTuple):
    """How much is measured."""

    epochs: int
    """Of a run that stands for one of 500."""
    settings: dict[str, Any]
    """Of every run, beside the paper's."""
    rounds: int
    turn_slots: int
    toy_steps: int
    """Of a slot."""
    toy_slots: dict[int, int]
    """How many slots are measured of so many agents."""


SIZES = Sizes(
    epochs=20,
    settings={},
    rounds=5,
    turn_slots=5,
    toy_steps=250,
    toy_slots={7: 60, 70: 12, 700: 3},
)
SMOKE = Sizes(
    epochs=2,
    settings={"test_repetitions": 1, "test_every": 1, "baseline": False},
    rounds=1,
    turn_slots=1,
    toy_steps=5,
    toy_slots={7: 1, 70: 1, 700: 1},
)


class Peer(NamedTuple):
    """Somebody else's learner, and what it takes to run it."""

    script: str
    """In the folder `peers`."""
    environment: str
    package: str
    """What it imports, beside torch."""
    differs: str
    """In what it does not do the same as we do."""


PEERS = {
    "stable_baselines3": Peer(
        "sb3_slots.py",
        "learners",
        "stable_baselines3",
        "agents never average; the critic is asked while acting, not afterwards for a whole slot",
    ),
    "rllib": Peer(
        "rllib_slots.py",
        "rllib",
        "ray",
        "agents never average; four steps on 250 rows drawn from a slot and one row added to each "
        "episode, not on whole slots; Ray's own processes beside the learner's are not counted",
    ),
}


def measured(*words: str, cores: Collection[int] = CORES[:1]) -> Figures:
    """What a new process of ours finds (peers/fmarl_slots.py)."""
    return answer([sys.executable, "fmarl_slots.py", *words], cores)


def trained(sizes: Sizes, cores: Collection[int] = CORES[:1], **settings: Any) -> Figures:
    """What a run costs whose settings are the paper's but for these.

    It keeps no samples: eight in so few epochs would be far more than eight in 500.
    """
    chosen = {"sample_slots": 0, **sizes.settings, **settings}
    return measured("run", json.dumps(chosen), cores=cores)


def one_run(sizes: Sizes) -> Figures:
    """The paper's run on one core: what it costs beside what its simulations cost.

    What is scaled says what a run of 500 epochs would give, in which tests are simulations too.
    """
    cold = trained(sizes, num_epochs=sizes.epochs)
    warm = trained(sizes, num_epochs=2, test_every=0)
    ours, bare = in_turns(sizes, OURS, [sys.executable, "fmarl_slots.py", "bare"])
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


def agents(sizes: Sizes) -> Figures:
    """What a transition costs among 7 and among 700 agents of a toy world."""
    return _per_transition({m: _among(m, sizes) for m in (7, 700)})


def agents_and_memory(sizes: Sizes) -> Figures:
    """The same for 70 too, with the memory of the learner when nothing is left to compile."""
    for m in sizes.toy_slots:
        _among(m, sizes)
    found = {m: _among(m, sizes) for m in sizes.toy_slots}
    few, some, many = (found[m]["peak_rss_mib"] for m in found)
    return {
        **_per_transition(found),
        **{f"peak_rss_mib_of_{m}_agents": found[m]["peak_rss_mib"] for m in found},
        "memory_growth_to_linear_growth": (many - few) / (some - few) / ((700 - 7) / (70 - 7)),
    }


def _among(agents: int, sizes: Sizes) -> Figures:
    numbers = (agents, sizes.toy_slots[agents], sizes.toy_steps)
    return measured("agents", *map(str, numbers))


def cores(sizes: Sizes) -> Figures:
    """One run alone and two at once, pinned to a core each or free on all, in turns."""
    one, two = CORES[:1], CORES[1:]
    ways = {"alone_pinned": [one], "alone_free": [CORES]}
    ways |= {"two_pinned": [one, two], "two_free": [CORES, CORES]}
    wall: dict[str, list[float]] = {way: [] for way in ways}
    cpu: dict[str, list[float]] = {way: [] for way in ways}
    untested = partial(trained, sizes, num_epochs=sizes.epochs, test_every=0)
    for _ in range(sizes.rounds):
        for way, places in ways.items():
            with ThreadPoolExecutor(len(places)) as pool:
                runs = list(pool.map(untested, places))
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


def table(epochs: int, sizes: Sizes) -> Figures:
    """The 13 runs of Table IV, one per core at a time, and how long they would take in full."""
    free: SimpleQueue[int] = SimpleQueue()
    for core in CORES:
        free.put(core)

    def when_free(settings: dict[str, Any]) -> Figures:
        core = free.get()
        try:
            return trained(sizes, [core], num_epochs=epochs, **settings)
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


def against(name: str, python: str, sizes: Sizes) -> Figures:
    """CPU of a slot of somebody else's learners and of ours."""
    ours, theirs = in_turns(sizes, OURS, [python, PEERS[name].script])
    return {
        f"{name}_to_fmarl": _ratio(theirs, ours),
        f"{name}_slot_cpu_ms": median(theirs) * 1e3,
        f"fmarl_slot_cpu_ms_beside_{name}": median(ours) * 1e3,
    }


def in_turns(
    sizes: Sizes, one: Sequence[str], other: Sequence[str]
) -> tuple[list[float], list[float]]:
    """CPU seconds of a slot of two scripts on one core, once per round."""
    found: tuple[list[float], list[float]] = ([], [])
    with running(one, CORES[:1]) as first, running(other, CORES[:1]) as second:
        for _ in range(1 + sizes.rounds):
            for script, taken in zip((first, second), found, strict=True):
                taken.append(cpu_seconds(script, sizes.turn_slots) / sizes.turn_slots)
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


def chosen(options: argparse.Namespace, sizes: Sizes) -> dict[str, Callable[[Sizes], Figures]]:
    """What to measure, by title."""
    parts: dict[str, Callable[[Sizes], Figures]] = {"one_run": one_run}
    parts["agents"] = agents_and_memory if options.full else agents
    if options.peers:
        pythons = {name: interpreter(name, options.smoke) for name in PEERS}
        parts |= {name: partial(against, name, found) for name, found in pythons.items() if found}
    if options.full and len(CORES) > 1:
        parts["cores"] = cores
    if options.full or options.table_epochs:
        parts["table_4"] = partial(table, options.table_epochs or sizes.epochs)
    return parts


def interpreter(name: str, smoke: bool) -> str:
    """What runs a peer: an environment of its own; for a smoke test this one, if it has it."""
    if not smoke:
        return python_of(PEERS[name].environment)
    package = PEERS[name].package
    if importlib.util.find_spec("torch") and importlib.util.find_spec(package):
        return sys.executable
    print(f"{name.replace('_', ' ')}\n  left out: torch and {package} are not installed here")
    return ""


def main() -> None:
    """Measure and print."""
    words = parser(__doc__ or "")
    for flag in ("--quick", "--full", "--peers", "--json"):
        words.add_argument(flag, action="store_true")
    words.add_argument("--table-epochs", type=int, default=0)
    options = words.parse_args()
    sizes = SMOKE if options.smoke else SIZES
    found, parts = {"machine": machine()}, chosen(options, sizes)
    with TemporaryDirectory() as cache:
        if not options.smoke:  # so that the first run has everything to compile
            os.environ["XDG_CACHE_HOME"] = cache
        for title, part in parts.items():
            found[title] = part(sizes)
            if not options.json:
                notes = [f"differs from ours: {PEERS[title].differs}"] if title in PEERS else []
                show(title, found[title], GOALS, notes)
    if options.json:
        found["differences"] = {name: PEERS[name].differs for name in PEERS if name in found}
        show_json(found)


if __name__ == "__main__":
    main()
