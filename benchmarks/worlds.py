"""What a step of a road costs, beside SUMO's own step, TraCI and two workers. Run: make bench.

Prints ratios measured in this one run, because the machines are shared; `--json` prints one object.
"Bare" is the time inside SUMO's step in the very same loop, so both sides see the same traffic.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from fmarl.rollout import policy as acting
from fmarl.rollout.policy_check import random_parameters
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.protocol import WorldMaker
from fmarl.worlds.sumo import figure_eight, merge
from fmarl.worlds.sumo.loop import Loop, flow_placement, loop_traffic
from fmarl.worlds.sumo.roads import compiled_network
from fmarl.worlds.sumo.session import SumoSession

STEPS, ROUNDS, SLOTS = 1500, 5, 60
WORDS = {"figure-eight": figure_eight, "merge": merge}


def play(
    world: Any, act: Callable[[np.ndarray, np.ndarray], np.ndarray] | None
) -> dict[str, float]:
    """Microseconds per step of one epoch: all of it, CPU, and inside SUMO's own step."""
    inside, advance = [0.0], world._session._advance

    def timed() -> None:
        start = time.perf_counter()
        advance()
        inside[0] += time.perf_counter() - start

    observation = world.reset(1)
    fixed = np.ones((world.spec.num_agents, 1), dtype=np.float32)
    noise = np.random.default_rng(0).standard_normal((STEPS, *fixed.shape)).astype(np.float32)
    world._session._advance = timed
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
        "bare": inside[0],
    }
    world._session._advance = advance
    return {name: seconds / count * 1e6 for name, seconds in spent.items()}


def road(name: str) -> dict[str, float]:
    """A step alone, a step with the policy of all agents, and a reset."""
    with WORDS[name].make() as world:
        parameters = random_parameters(world.spec)._replace(
            log_std=np.full((world.spec.num_agents, 1), -1.0, dtype=np.float32)
        )
        policy = acting.bind(acting.Policy("sampled", parameters), world.spec)
        alone = [play(world, None) for _ in range(ROUNDS)]
        driven = [play(world, policy) for _ in range(ROUNDS)]
        resets = [timed_reset(world, seed) for seed in range(10)]
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


def traci_step(*, subscribe: bool) -> float:
    """Wall microseconds of the same Figure Eight step through TraCI, as Flow's users have it."""
    import sumo
    import traci

    options = figure_eight.PRESETS["zju"]
    network = compiled_network(options.road())
    with SumoSession(network, step_seconds=0.1) as session:  # only for its files
        loop = Loop.measure(network)
        session._routes.write_text(loop_traffic(loop, flow_placement(loop, 14), options))
        traci.start([str(Path(sumo.SUMO_HOME, "bin", "sumo")), *session._arguments])
        try:
            return _traci_loop(traci, subscribe)
        finally:
            traci.close()


def _traci_loop(traci: Any, subscribe: bool) -> float:
    names = [f"vehicle_{number}" for number in range(14)]
    speed_code, distance_code = traci.constants.VAR_SPEED, traci.constants.VAR_DISTANCE
    traci.simulationStep()
    for name in names:
        traci.vehicle.setSpeedMode(name, 1)
        if subscribe:
            traci.vehicle.subscribe(name, [speed_code, distance_code])
    traci.simulationStep()
    speeds, steps, start = [0.0] * 14, 400, time.perf_counter()
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


def workers() -> tuple[float, float]:
    """Seconds per slot of 250 steps of one worker, and of two at once, measured in turns."""
    maker = WorldMaker("figure-eight", {}, "fmarl.worlds.registry:make_world")
    times: tuple[list[float], list[float]] = ([], [])
    with WorldPool([maker], run_seed=0) as one, WorldPool([maker] * 2, run_seed=0) as two:
        policy = acting.Policy("sampled", random_parameters(one.specs[0]))
        for _ in range(SLOTS):
            for rollout, taken in zip((one, two), times, strict=True):
                start = time.perf_counter()
                rollout.play(policy, 250)
                taken.append(time.perf_counter() - start)
    return median(times[0]), median(times[1])


def main() -> None:
    """Measure everything and print it."""
    found: dict[str, dict[str, float]] = {name: road(name) for name in WORDS}
    step = found["figure-eight"]["step us (wall)"]
    one, two = workers()
    found["peers"] = {
        "TraCI with subscriptions : ours": traci_step(subscribe=True) / step,
        "TraCI with getters : ours": traci_step(subscribe=False) / step,
        "two workers : one": 2 * one / two,
        "steps per second of two workers": 2 * 250 / two,
    }
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    for title, numbers in found.items():
        print(title)
        for name, number in numbers.items():
            print(f"  {name:35} {number:10.2f}")


if __name__ == "__main__":
    main()
