"""What the exact road does not cover: refused in one line that names the simulator that does."""

from typing import Any

import numpy as np

from fmarl.errors import BadInput, require
from fmarl.worlds.sumo.figure_eight import FigureEight
from fmarl.worlds.sumo.loop import Loop
from fmarl.worlds.traffic.car_following import STEP
from fmarl.worlds.traffic.lanes import MAJOR_CROSSING, MINOR_CROSSING
from fmarl.worlds.traffic.records import RoadState

MODES = [mode for mode in range(64) if bool(mode & 8) == bool(mode & 16)]
"""Speed modes whose rules are covered: right of way and red lights are kept together or not."""


USUAL_LENGTH, USUAL_JITTER = 5.0, 0.5
"""Metres up to which SUMO was seen to take starts on both lanes of the crossing as they are."""


def refuse_uncovered(options: FigureEight, crossing: float) -> None:
    """One line for the first option that only SUMO itself keeps."""
    for holds, what, allowed in _coverage(options, crossing):
        require(holds, f"{what} with simulator = exact", allowed, "Use simulator=sumo.")


def _coverage(options: FigureEight, crossing: float) -> list[tuple[bool, str, str]]:
    """What the rules cover: whether it holds, the option, what is allowed."""
    types = (options.learner_type, options.human_type)
    modes = {options.human_speed_mode}
    modes |= {options.learner_speed_mode} if options.controlled else set()
    strange = modes - set(MODES)
    models, lengths = {one.car_following for one in types}, [one.length for one in types]
    return [
        (not options.renews_routes, "renews_routes = true", "false"),
        (options.step_seconds == STEP, f"step_seconds = {options.step_seconds}", f"{STEP}"),
        (models == {"IDM"}, f"car_following = {', '.join(sorted(models))}", "IDM"),
        (max(lengths) < crossing, f"length = {max(lengths)}", f"less than {crossing} m"),
        (
            not strange,
            f"speed mode {max(strange, default=0)}",
            "0 to 63, with 8 and 16 alike",
        ),
    ]


def refuse_crowded(starts: np.ndarray, loop: Loop, drivers: Any) -> None:
    """SUMO holds a vehicle back that would start too close behind another one."""
    ways = (np.roll(starts, -1) - starts) % loop.length
    have_room = (ways >= np.roll(drivers.length, -1) + drivers.min_gap).all()
    in_order = ways.sum() < 1.5 * loop.length  # who starts behind the next one has a whole lap
    require(
        bool(have_room and in_order),
        "a start too close to the next one",
        "room for length and min_gap",
        "Use fewer vehicles or less start_jitter.",
    )


def refuse_occupied_crossing(vehicles: Any, drivers: Any, start_jitter: float) -> None:
    """SUMO may hold a vehicle back, or counts no crash, if both lanes are taken at the start."""
    lanes = set(vehicles.lane[vehicles.position < drivers.length].tolist())
    both = {MAJOR_CROSSING + 1, MINOR_CROSSING + 1} <= lanes
    usual = float(drivers.length.max()) <= USUAL_LENGTH and start_jitter <= USUAL_JITTER
    require(
        usual or not both,
        "a start on both lanes of the crossing with simulator = exact",
        f"that with length <= {USUAL_LENGTH} and start_jitter <= {USUAL_JITTER} only",
        "Use simulator=sumo, or another num_vehicles.",
    )


def refuse_overlook(road: RoadState) -> None:
    """One line if a vehicle has looked ahead around the whole loop, and not seen enough."""
    if road.clock[1]:
        raise BadInput(
            "a vehicle that looks ahead around the whole loop is not covered by simulator = exact. "
            "Use simulator=sumo, or a lower speed_limit."
        )
