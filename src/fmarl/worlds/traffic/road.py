"""A step of the road: everybody plans, announces and moves, as in MSNet::simulationStep.

docs/sumo-rules.md, section 3. Plans read the positions and announcements of the last step, moves
read the announcements of this one, so it does not matter who comes first.
"""

from typing import Any

import numpy as np

from fmarl.worlds.traffic.car_following import STEP_MS
from fmarl.worlds.traffic.collisions import any_collision
from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.keep_clear import keep_clear
from fmarl.worlds.traffic.lanes import (
    MAJOR_CROSSING,
    MAJOR_ENTRY,
    MINOR_CROSSING,
    NUM_LANES,
    next_lane,
    survey,
)
from fmarl.worlds.traffic.look_ahead import MOST_ITEMS, look_ahead
from fmarl.worlds.traffic.move import NEVER, move
from fmarl.worlds.traffic.records import DrivePlan, LinkItem, RoadState, Vehicle, rows


def make_road(lanes: Any, drivers: Any) -> RoadState:
    """A road with a vehicle for every driver; `place` puts them on it."""
    count = len(drivers)
    plans, items = rows(DrivePlan, count), rows(LinkItem, count, MOST_ITEMS)
    return RoadState(rows(Vehicle, count), drivers, lanes, items, plans, np.zeros(2, np.int64))


def place(road: RoadState, lane: np.ndarray, position: np.ndarray) -> None:
    """Put all vehicles at rest at their starts, after the step in which they appear."""
    vehicles = road.vehicles
    vehicles[:] = np.zeros(1, vehicles.dtype)
    vehicles.lane, vehicles.position = lane, position
    vehicles.entered = vehicles.conflict = NEVER
    road.clock[:] = STEP_MS, 0


@compiled
def step(road: RoadState, commands: Any) -> bool:
    """Move everybody by 0.1 s; whether two of them touch then. A negative command is none."""
    vehicles, drivers, lanes, items, plans, clock = road
    now = clock[0]
    survey(vehicles, drivers, lanes)
    for number in range(len(vehicles)):
        plan = plans[number]
        saw_enough = look_ahead(
            number, vehicles, drivers, lanes, items, plan, now, commands[number]
        )
        clock[1] += not saw_enough
        keep_clear(number, vehicles, drivers, lanes, items, plan, now)
        _prepare_announcement(number, vehicles[number].lane, items, plan)
    for number in range(len(vehicles)):
        _announce(vehicles[number], plans[number])
    for number in range(len(vehicles)):
        move(number, vehicles, drivers, lanes, items, plans[number], now, commands[number])
    clock[0] += STEP_MS
    return any_collision(vehicles, drivers, lanes)


@compiled
def _prepare_announcement(number: int, lane: int, items: Any, plan: DrivePlan) -> None:
    """Whether a vehicle asks to pass the priority entry, and the exit of the crossing nearest."""
    near_major = lane <= MAJOR_CROSSING or lane >= NUM_LANES - 2
    exit_link = MAJOR_CROSSING if near_major else MINOR_CROSSING
    for count in range(plan.items):
        if lane == MAJOR_ENTRY:
            plan.passes_major = items[number, count].requests
        if lane == exit_link:
            plan.passes_exit = items[number, count].requests
        lane = next_lane(lane)


@compiled
def _announce(vehicle: Vehicle, plan: DrivePlan) -> None:
    """MSVehicle::setApproachingForAllLinks: what others read of a plan."""
    vehicle.passes_major, vehicle.passes_exit = plan.passes_major, plan.passes_exit
    vehicle.major_arrival, vehicle.major_leaving = plan.major_arrival, plan.major_leaving
    vehicle.major_distance = plan.major_distance
