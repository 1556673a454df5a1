"""What a step of the exact road costs, beside SUMO's own. Run: python benchmarks/traffic.py.

Prints ratios of CPU time measured in this one run, in turns, because the machines are shared.
"Bare" is SUMO's own step in a loop that does nothing else; a slot is what a worker plays.
"""

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import NamedTuple

import libsumo
import numpy as np
from _figures import Figures, Goal, commit, parser, show, show_json

from fmarl.rollout.play import play_slot, start
from fmarl.rollout.policy import Policy
from fmarl.rollout.policy_check import random_parameters
from fmarl.worlds.sumo import figure_eight
from fmarl.worlds.traffic.compiled import entry
from fmarl.worlds.traffic.records import RoadState
from fmarl.worlds.traffic.road import step
from fmarl.worlds.traffic.world import ExactFigureEight

GOALS = {
    "SUMO's bare step : exact step": Goal("at least", 8),
    "slot on SUMO : slot on the exact road": Goal("at least", 8),
}


class Sizes(NamedTuple):
    """How much is measured."""

    turns: int = 9
    steps: int = 1500
    slot: int = 250


SMOKE = Sizes(turns=1, steps=20, slot=20)


@entry
def drive(road: RoadState, commands: np.ndarray, steps: int) -> None:
    """The exact road alone."""
    for _ in range(steps):
        step(road, commands)


def drive_sumo(steps: int) -> None:
    """SUMO's own step alone."""
    for _ in range(steps):
        libsumo.simulationStep()


def cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU time of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def bare(sizes: Sizes) -> tuple[float, float]:
    """Microseconds of a step of SUMO and of the exact road, both driving all vehicles."""
    sumo = figure_eight.make(controlled=False)
    exact = figure_eight.make(controlled=False, simulator="exact")
    assert isinstance(exact, ExactFigureEight)
    pairs = []
    with sumo, exact:
        for seed in range(sizes.turns + 1):
            sumo.reset(seed)
            exact.reset(seed)
            theirs = cpu(partial(drive_sumo, sizes.steps))
            ours = cpu(partial(drive, exact._scene.road, exact._scene.commands, sizes.steps))
            pairs.append((theirs, ours))
    theirs, ours = zip(*pairs[1:], strict=True)  # the first one compiles
    return median(theirs) / sizes.steps * 1e6, median(ours) / sizes.steps * 1e6


def slots(sizes: Sizes) -> tuple[float, float]:
    """Microseconds of a step with policy, observations and reward, as a worker plays a slot."""
    sumo, exact = figure_eight.make(), figure_eight.make(simulator="exact")
    with sumo, exact:
        players = start(sumo, run_seed=0), start(exact, run_seed=0)
        policy = Policy("sampled", random_parameters(sumo.spec))
        pairs = [
            [cpu(partial(play_slot, player, policy, slot, sizes.slot)) for player in players]
            for slot in range(3 * sizes.turns + 1)
        ]
    theirs, ours = zip(*pairs[1:], strict=True)
    return median(theirs) / sizes.slot * 1e6, median(ours) / sizes.slot * 1e6


def measure(sizes: Sizes) -> Figures:
    """All figures."""
    bare_sumo, bare_exact = bare(sizes)
    slot_sumo, slot_exact = slots(sizes)
    return {
        "SUMO's bare step : exact step": bare_sumo / bare_exact,
        "slot on SUMO : slot on the exact road": slot_sumo / slot_exact,
        "SUMO's bare step us": bare_sumo,
        "exact step us": bare_exact,
        "slot on SUMO us per step": slot_sumo,
        "slot on the exact road us per step": slot_exact,
    }


def main() -> None:
    """Measure everything and print it."""
    words = parser(__doc__ or "")
    words.add_argument("--json", action="store_true")
    options = words.parse_args()
    found = measure(SMOKE if options.smoke else Sizes())
    if options.json:
        show_json({"traffic": found})
    else:
        show(f"traffic, commit {commit()}", found, GOALS)


if __name__ == "__main__":
    main()
