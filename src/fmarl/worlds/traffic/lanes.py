"""The loop of twelve lanes: measured from the compiled network, and who is on which lane.

    0 bottom, 1 :center_1, 2 top, 3 :top_0, 4 upper_ring, 5 :right_0,
    6 right, 7 :center_0, 8 left, 9 :left_0, 10 lower_ring, 11 :bottom_0

Even lanes are edges, odd ones lie inside junctions. Link l is the end of lane l. Only two links
have foes: the entries of the crossing, 0 with priority and 6 without. docs/sumo-rules.md, 1 and 7.
"""

from itertools import chain
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from fmarl.worlds.sumo.loop import JUNCTIONS, ORDER
from fmarl.worlds.sumo.roads.network import lane_lengths, lane_shapes
from fmarl.worlds.traffic.car_following import HALTING, UNBOUNDED, brake_gap
from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.records import Driver, Lane, Vehicle, rows

NUM_LANES = 12
MAJOR_ENTRY, MAJOR_CROSSING, MINOR_ENTRY, MINOR_CROSSING = 0, 1, 6, 7
LANE_WIDTH = 3.2
"""SUMO's width of a lane that is given none: two lanes that cross conflict on as much."""
REACHES_BACK = 1e4
"""Added to the rank of a vehicle that only reaches back into a lane: behind it is nobody."""

NAMES = tuple(f"{name}_0" for name in chain.from_iterable(zip(ORDER, JUNCTIONS, strict=True)))
"""Lanes of the network in the order in which they are driven."""


def measured_lanes(network: Path) -> Any:
    """The lanes of a compiled network, as rows of `Lane`."""
    lengths, shapes, lanes = lane_lengths(network), lane_shapes(network), rows(Lane, NUM_LANES)
    lanes.length = [lengths[name] for name in NAMES]
    lanes.start = np.concatenate([[0.0], np.cumsum(lanes.length)[:-1]])
    lanes.scale = [_drawn_length(shapes[name]) / lengths[name] for name in NAMES]
    for own, foe in ((MAJOR_CROSSING, MINOR_CROSSING), (MINOR_CROSSING, MAJOR_CROSSING)):
        middle = _crossed_at(shapes[NAMES[own]], shapes[NAMES[foe]])
        begin = (middle - LANE_WIDTH / 2) / lanes[own].scale
        lanes[own].behind_conflict = lanes[own].length - begin
    return lanes


def _drawn_length(shape: Float[np.ndarray, "point 2"]) -> float:
    return float(np.linalg.norm(np.diff(shape, axis=0), axis=1).sum())


def _crossed_at(shape: Float[np.ndarray, "point 2"], other: Float[np.ndarray, "point 2"]) -> float:
    """PositionVector::intersectsAtLengths2D of two straight lanes: metres along the first.

    In SUMO's order of arithmetic, not rounded: its last bits decide who creeps how near to a foe.
    """
    (x1, y1), (x2, y2) = shape[[0, -1]].tolist()
    (x3, y3), (x4, y4) = other[[0, -1]].tolist()
    denominator = (y4 - y3) * (x2 - x1) - (x4 - x3) * (y2 - y1)
    share = ((x4 - x3) * (y1 - y3) - (y4 - y3) * (x1 - x3)) / denominator
    across, along = x1 + share * (x2 - x1) - x1, y1 + share * (y2 - y1) - y1
    return sqrt(across * across + along * along)


@compiled
def previous_lane(lane: int) -> int:
    """The lane that leads into this one."""
    return lane - 1 if lane > 0 else NUM_LANES - 1


@compiled
def next_lane(lane: int) -> int:
    """The lane that this one leads into."""
    return lane + 1 if lane < NUM_LANES - 1 else 0


@compiled
def is_inner(lane: int) -> bool:
    """Whether a lane lies inside a junction."""
    return lane & 1 == 1


@compiled
def is_entry(lane: int) -> bool:
    """Whether a lane ends at the crossing."""
    return lane in (MAJOR_ENTRY, MINOR_ENTRY)


@compiled
def is_crossing(lane: int) -> bool:
    """Whether a lane crosses the other one."""
    return lane in (MAJOR_CROSSING, MINOR_CROSSING)


@compiled
def next_vehicle(number: int, count: int) -> int:
    """The vehicle ahead on the loop."""
    return number + 1 if number + 1 < count else 0


@compiled
def survey(vehicles: Any, drivers: Any, lanes: Any) -> None:
    """Note for every lane who is on it (MSLane::getLastAnyVehicle, getBruttoVehLenSum)."""
    for lane in range(NUM_LANES):
        here = lanes[lane]
        here.rearmost, here.standing, here.rear_rank, here.taken = -1, -1, UNBOUNDED, 0.0
    for number in range(len(vehicles)):
        _enrol(number, vehicles, drivers[number], lanes)
    for lane in range(NUM_LANES):
        here = lanes[lane]
        if here.rearmost >= 0:
            rear = here.rearmost
            here.rear_back = back_on(lane, vehicles[rear], drivers[rear], lanes)
        here.space = _space(lane, vehicles, drivers, lanes)


@compiled
def _enrol(number: int, vehicles: Any, driver: Driver, lanes: Any) -> None:
    """Note a vehicle on the lane of its front and on those that it reaches back into."""
    vehicle = vehicles[number]
    here = lanes[vehicle.lane]
    here.taken += driver.place_needed
    if vehicle.position < here.rear_rank:
        here.rear_rank, here.rearmost = vehicle.position, number
    if vehicle.speed < HALTING and (
        here.standing < 0 or vehicle.position < vehicles[here.standing].position
    ):
        here.standing = number
    lane, beyond = vehicle.lane, vehicle.position
    while beyond < driver.length:
        lane = previous_lane(lane)
        if REACHES_BACK + beyond < lanes[lane].rear_rank:
            lanes[lane].rear_rank, lanes[lane].rearmost = REACHES_BACK + beyond, number
        beyond += lanes[lane].length


@compiled
def back_on(lane: int, vehicle: Vehicle, driver: Driver, lanes: Any) -> float:
    """MSVehicle::getBackPositionOnLane of a lane that the front is on or has left."""
    if vehicle.lane == lane:
        return vehicle.position - driver.length
    left, ahead = driver.length - vehicle.position, vehicle.lane
    while ahead != lane:
        ahead = previous_lane(ahead)
        left -= lanes[ahead].length
    return -left


@compiled
def _space(lane: int, vehicles: Any, drivers: Any, lanes: Any) -> float:
    """MSLane::getSpaceTillLastStanding."""
    here = lanes[lane]
    if here.standing < 0:
        return here.length - here.taken
    last, driver = vehicles[here.standing], drivers[here.standing]
    taken_behind, number = 0.0, here.rearmost
    while number != here.standing:
        taken_behind += drivers[number].place_needed
        number = next_vehicle(number, len(vehicles))
    stops_at = last.position - driver.length + brake_gap(last.speed, driver.decel, driver.headway)
    return stops_at - taken_behind
