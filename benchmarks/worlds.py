"""What a step of a road costs, beside SUMO's own step, TraCI and two workers. Run: make bench.

Prints ratios measured in this one run, because the machines are shared; `--json` prints one object.
"Bare" is the time inside SUMO's step in the very same loop, so both sides see the same traffic.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from subprocess import PIPE
from typing import Any, NamedTuple

import libsumo
import numpy as np
from _figures import in_turns, parser, seconds, show, show_json

from fmarl.rollout import policy as acting
from fmarl.rollout.policy_check import random_parameters
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.protocol import WorldMaker
from fmarl.worlds.sumo import figure_eight, merge

MOST_STEPS = 1500
ROADS = {"figure-eight": figure_eight, "merge": merge}


class Sizes(NamedTuple):
    """How much is measured."""

    rounds: int = 5
    resets: int = 10
    traci_steps: int = 400
    slots: int = 60
    bare_steps: int = 50_000


SMOKE = Sizes(rounds=1, resets=1, traci_steps=10, slots=1, bare_steps=10)


class Sumo:
    """libsumo with a clock around its step, and with the arguments that it was started with."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.arguments: list[str] = []
        self._step, self._start = libsumo.simulationStep, libsumo.start
        libsumo.simulationStep, libsumo.start = self._timed_step, self._recorded_start

    def _timed_step(self) -> None:
        begun = time.perf_counter()
        self._step()
        self.seconds += time.perf_counter() - begun

    def _recorded_start(self, command: list[str]) -> Any:
        self.arguments = command[1:]
        return self._start(command)


def play(
    world: Any, sumo: Sumo, act: Callable[[np.ndarray, np.ndarray], np.ndarray] | None
) -> dict[str, float]:
    """Microseconds per step of one epoch: all of it, CPU, and inside SUMO's own step."""
    observation = world.reset(1)
    fixed = np.ones((world.spec.num_agents, 1), dtype=np.float32)
    noise = np.random.default_rng(0).standard_normal((MOST_STEPS, *fixed.shape)).astype(np.float32)
    sumo.seconds = 0.0
    wall, cpu, count, over = time.perf_counter(), time.process_time(), 0, False
    while not over:
        action = (
            fixed if act is None else acting.clipped(act(observation, noise[count]), world.spec)
        )
        step = world.step(action)
        observation, over, count = step.observation, step.over, count + 1
    spent = {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "bare": sumo.seconds,
    }
    return {name: taken / count * 1e6 for name, taken in spent.items()}


def road(name: str, sumo: Sumo, sizes: Sizes) -> dict[str, float]:
    """A step alone, a step with the policy of all agents, and a reset."""
    with ROADS[name].make() as world:
        parameters = random_parameters(world.spec)._replace(
            log_std=np.full((world.spec.num_agents, 1), -1.0, dtype=np.float32)
        )
        policy = acting.bind(acting.Policy("sampled", parameters), world.spec)
        alone = [play(world, sumo, None) for _ in range(sizes.rounds)]
        driven = [play(world, sumo, policy) for _ in range(sizes.rounds)]
        resets = [timed_reset(world, seed) for seed in range(sizes.resets)]
    return {
        "step : bare": median(p["wall"] / p["bare"] for p in alone),
        "step and policy : bare": median(p["wall"] / p["bare"] for p in driven),
        "bare us": median(p["bare"] for p in alone),
        "step us (wall)": median(p["wall"] for p in alone),
        "step us (CPU)": median(p["cpu"] for p in alone),
        "steps per second with policy": 1e6 / median(p["wall"] for p in driven),
        "reset ms": median(resets),
    }


def timed_reset(world: Any, seed: int) -> float:
    """Milliseconds of CPU."""
    start = time.process_time()
    world.reset(seed)
    return (time.process_time() - start) * 1e3


def traci_step(sumo: Sumo, steps: int, *, subscribe: bool) -> float:
    """Wall microseconds of the same Figure Eight step through TraCI, as Flow's users have it."""
    import sumo as sumo_package
    import traci

    with figure_eight.make() as world:  # for its files: the same road and traffic
        world.reset(1)
        traci.start([str(Path(sumo_package.SUMO_HOME, "bin", "sumo")), *sumo.arguments])
        try:
            return _traci_loop(traci, steps, subscribe)
        finally:
            traci.close()


def _traci_loop(traci: Any, steps: int, subscribe: bool) -> float:
    names = [f"vehicle_{number}" for number in range(14)]
    speed_code, distance_code = traci.constants.VAR_SPEED, traci.constants.VAR_DISTANCE
    traci.simulationStep()
    for name in names:
        traci.vehicle.setSpeedMode(name, 1)
        if subscribe:
            traci.vehicle.subscribe(name, [speed_code, distance_code])
    traci.simulationStep()
    speeds, start = [0.0] * 14, time.perf_counter()
    for _ in range(steps):
        for number in range(1, 14, 2):
            traci.vehicle.setSpeed(names[number], speeds[number] + 0.15)
        traci.simulationStep()
        if subscribe:
            read = traci.vehicle.getAllSubscriptionResults()
            speeds = [read[name][speed_code] for name in names]
            np.array([read[name][distance_code] for name in names])
        else:
            speeds = [traci.vehicle.getSpeed(name) for name in names]
            np.array([traci.vehicle.getDistance(name) for name in names])
        traci.simulation.getCollidingVehiclesNumber()
    return (time.perf_counter() - start) / steps * 1e6


def workers(slots: int) -> tuple[float, float]:
    """Seconds per slot of 250 steps of one worker, and of two at once, measured in turns."""
    maker = WorldMaker("figure-eight", {}, "fmarl.worlds.registry:make_world")
    with WorldPool([maker], run_seed=0) as one, WorldPool([maker] * 2, run_seed=0) as two:
        policy = acting.Policy("sampled", random_parameters(one.specs[0]))
        return in_turns(
            lambda: one.play(policy, 250), lambda: two.play(policy, 250), slots, warm_up=0
        )


def bare_loop(steps: int) -> None:
    """Say when SUMO is ready, wait for a line, and print how long so many bare steps took."""
    with figure_eight.make(controlled=False) as world:
        world.reset(1)
        print("ready", flush=True)
        sys.stdin.readline()
        print(seconds(lambda: [libsumo.simulationStep() for _ in range(steps)]))


def bare_loops(count: int, steps: int) -> float:
    """Steps per second of so many bare loops at once, each in a process."""
    command = [sys.executable, __file__, "--bare-loop", str(steps)]
    with ExitStack() as stack:
        loops = [
            stack.enter_context(subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True))
            for _ in range(count)
        ]
        for loop in loops:
            assert loop.stdout is not None
            loop.stdout.readline()
        for loop in loops:
            assert loop.stdin is not None
            loop.stdin.write("go\n")
            loop.stdin.flush()
        return count * steps / max(float(loop.communicate()[0]) for loop in loops)


def main() -> None:
    """Measure everything and print it."""
    words = parser(__doc__ or "")
    words.add_argument("--json", action="store_true")
    words.add_argument("--bare-loop", type=int, help=argparse.SUPPRESS)
    options = words.parse_args()
    if options.bare_loop:
        bare_loop(options.bare_loop)
        return
    sizes, sumo = SMOKE if options.smoke else Sizes(), Sumo()
    found = {name: road(name, sumo, sizes) for name in ROADS}
    step = found["figure-eight"]["step us (wall)"]
    one, two = workers(sizes.slots)
    with_subscriptions, with_getters = (
        traci_step(sumo, sizes.traci_steps, subscribe=subscribe) for subscribe in (True, False)
    )
    one_loop, two_loops = (bare_loops(count, sizes.bare_steps) for count in (1, 2))
    found["peers"] = {
        "TraCI with subscriptions : ours": with_subscriptions / step,
        "TraCI with getters : ours": with_getters / step,
        "two workers : one": 2 * one / two,
        "two bare loops : one": two_loops / one_loop,
        "steps per second of two workers": 2 * 250 / two,
    }
    if options.json:
        show_json(found)
        return
    for title, figures in found.items():
        show(title, figures)


if __name__ == "__main__":
    main()
