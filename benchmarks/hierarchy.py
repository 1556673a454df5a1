"""How a hierarchy of virtual agents grows to 10,000 agents, in process. Run: make bench.

Ten toy worlds share the agents; an edge virtual agent in each averages every period, a root every
five. Prints what a period and its lines cost per agent, as ratios within this one run, because the
machines are shared. A ratio of 1 is linear; what does not depend on the agents lets it fall.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from _figures import parser, ratio

AGENTS, PERIODS = (1_000, 3_000, 10_000), 12
SMOKE_AGENTS, SMOKE_PERIODS = (4, 8, 12), 4
WORLDS, SMOKE_WORLDS = 10, 2
FIRST = 2
"""Periods in which programs are compiled and workers warm up: not counted."""


def one_size(num_agents: int, num_worlds: int, periods: int) -> dict[str, float]:
    """What a period costs among so many agents; run in a process of its own."""
    import fmarl
    from fmarl.algorithms.agent_config import AgentConfig

    experiment = fmarl.Experiment(
        world="toy-quadratic",
        set=(f"num_agents={num_agents // num_worlds}", "targets=0.5", "epoch_steps=20"),
        num_worlds=num_worlds,
        together=fmarl.MethodConfig(sync_period=2, hierarchy=5, learning_rate=1e-2),
        agent=AgentConfig(hidden=(16, 16)),
        num_epochs=periods,
        steps_per_update=10,
        test_every=0,
        sample_slots=0,
    )
    ends: list[tuple[float, float]] = []

    def listen(line: dict[str, Any]) -> None:
        if line.get("kind") == "epoch":  # which is a period here
            ends.append((time.perf_counter(), time.process_time()))
        if len(ends) == FIRST:
            Path("/proc/self/clear_refs").write_text("5")  # forget the peak of compiling

    with TemporaryDirectory() as folder:
        fmarl.train(experiment, f"{folder}/run", listen=listen)
    counted = list(zip(ends[FIRST:], ends[FIRST + 1 :], strict=False))
    wall, cpu = (median(end[way] - begin[way] for begin, end in counted) for way in (0, 1))
    return {"wall_ms": 1e3 * wall, "cpu_ms": 1e3 * cpu, "peak_mib": _peak_mib()}


def _peak_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(peak) / 1024


def measured(*size: int) -> dict[str, float]:
    """What a size costs, in a process of its own."""
    command = [sys.executable, __file__, "--size", *map(str, size)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def show(found: dict[int, dict[str, float]]) -> None:
    """Print what each size costs, and how cost grows."""
    few, some, many = found
    print("agents   period ms   learner's CPU ms   peak MiB   µs per agent and period")
    for agents, figures in found.items():
        wall, cpu, peak = figures["wall_ms"], figures["cpu_ms"], figures["peak_mib"]
        print(f"{agents:6} {wall:11.1f} {cpu:18.1f} {peak:10.0f} {1e3 * wall / agents:25.1f}")
    for name in ("wall_ms", "cpu_ms"):
        growth = ratio(found[many][name] / many, found[few][name] / few)
        print(f"{name} per agent, {many:,} to {few:,} agents: {growth:.2f} (1 is linear)")
    memory = {agents: 1024 * figures["peak_mib"] for agents, figures in found.items()}
    early, late = (memory[some] - memory[few]) / (some - few), (memory[many] - memory[some])
    late /= many - some
    print(f"memory per further agent, KiB: {early:.1f}, then {late:.1f}: ", end="")
    print(f"ratio {ratio(late, early):.2f} (1 is linear)")


def main() -> None:
    """Measure every size in its own process, one after another, and print."""
    words = parser(__doc__ or "")
    words.add_argument("--size", type=int, nargs=3, help="AGENTS WORLDS PERIODS, as JSON")
    options = words.parse_args()
    if options.size:
        print(json.dumps(one_size(*options.size)))
        return
    if options.smoke:
        sizes = SMOKE_AGENTS
        show({agents: measured(agents, SMOKE_WORLDS, SMOKE_PERIODS) for agents in sizes})
        return
    for agents in AGENTS:  # the first time pays for what is compiled
        measured(agents, WORLDS, FIRST + 2)
    show({agents: measured(agents, WORLDS, PERIODS) for agents in AGENTS})


if __name__ == "__main__":
    main()
