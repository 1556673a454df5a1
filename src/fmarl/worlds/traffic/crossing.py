"""At the crossing: who is on it, who was first, and whether a gap is wide enough to cross.

docs/sumo-rules.md, sections 6 and 9.
"""

from math import ceil, floor, trunc
from typing import Any

import numpy as np

from fmarl.worlds.traffic.car_following import (
    EPS,
    HALTING,
    POSITION_EPS,
    STEP,
    STEP_MS,
    UNBOUNDED,
    Motion,
    follow_speed,
    milliseconds,
    stop_speed,
)
from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.lanes import (
    LANE_WIDTH,
    MAJOR_CROSSING,
    MINOR_CROSSING,
    back_on,
    is_inner,
    next_vehicle,
)
from fmarl.worlds.traffic.records import DrivePlan, Driver, Vehicle

VISIBILITY = 4.5
"""Metres before a minor link from which a driver sees the foes."""
BLOCKED_MS = 5000
"""A foe that has stood for longer blocks the junction."""
LOOK_AHEAD_MS = 1000
"""Time that must lie between who crosses first and who crosses second."""
MOST_FOES = 3
"""Vehicles on the other lane of the crossing that can be minded."""
IMPATIENT_MS = 180_000.0
"""Waiting time that makes any driver fully impatient."""


@compiled
def speed_for_foes(
    number: int, own: Motion, lane: int, seen: float, vehicles: Any, drivers: Any, lanes: Any
) -> tuple[float, bool]:
    """MSVehicle::checkLinkLeader: the speed that those leave who are on the lane that crosses this.

    UNBOUNDED if nobody is minded. The second is whether one of them has stood for long.
    """
    lowest, is_stuck = UNBOUNDED, False
    foe_lane = MINOR_CROSSING if lane == MAJOR_CROSSING else MAJOR_CROSSING
    ahead = seen - lanes[lane].behind_conflict
    foe = lanes[foe_lane].rearmost
    if foe < 0 or ahead + LANE_WIDTH < 0 or not drivers[number].heeds_foes:
        return lowest, is_stuck
    for _ in range(MOST_FOES):
        if not _is_on(foe_lane, vehicles[foe], drivers[foe]):
            break
        foe_ahead = _before_conflict(foe_lane, vehicles[foe], drivers[foe], lanes)
        if _is_respected(number, foe, lane, ahead, foe_ahead, vehicles, drivers):
            line = seen - lanes[lane].length - POSITION_EPS
            foe_speed = vehicles[foe].speed
            safe = _foe_speed(drivers[number], own, foe_speed, ahead, foe_ahead, line)
            lowest = min(lowest, safe)
            is_stuck = is_stuck or vehicles[foe].waiting > BLOCKED_MS
        foe = next_vehicle(foe, len(vehicles))
    return lowest, is_stuck


@compiled
def _is_on(lane: int, vehicle: Vehicle, driver: Driver) -> bool:
    """Whether any part of a vehicle is on a lane of the crossing."""
    if vehicle.lane == lane:
        return True
    return vehicle.lane == lane + 1 and vehicle.position < driver.length


@compiled
def _before_conflict(lane: int, vehicle: Vehicle, driver: Driver, lanes: Any) -> float:
    """Metres from a vehicle's back to the begin of the conflict area; negative behind it."""
    begin = lanes[lane].length - lanes[lane].behind_conflict
    return begin - back_on(lane, vehicle, driver, lanes)


@compiled
def _is_respected(
    number: int, foe: int, lane: int, ahead: float, foe_ahead: float, vehicles: Any, drivers: Any
) -> bool:
    """MSLink::getLeaderInfo and MSVehicle::isLeader: whether a foe on the crossing is waited for.

    `ahead` is the way to the conflict area, `foe_ahead` that of the foe's back.
    """
    vehicle, other = vehicles[number], vehicles[foe]
    if number == foe or foe_ahead + LANE_WIDTH < 0:  # it has passed
        return False
    if ahead > 0 and foe_ahead < drivers[foe].length:  # it is in the way
        return True
    on_crossing = is_inner(other.lane)  # or already behind it
    if ahead < -POSITION_EPS or (on_crossing and not other.passes_exit):
        return False
    if vehicle.lane != lane or not on_crossing:
        return True
    return _comes_second(vehicle, other, drivers[number], drivers[foe])


@compiled
def _comes_second(vehicle: Vehicle, foe: Vehicle, driver: Driver, foe_driver: Driver) -> bool:
    """MSVehicle::isLeader: who entered later yields, then the slower one, then by the name."""
    if vehicle.lane == MAJOR_CROSSING:
        mine, its = vehicle.entered, foe.conflict
    else:
        mine, its = vehicle.conflict, foe.entered
    if mine != its:
        return mine > its
    if vehicle.speed == foe.speed:
        return driver.name_rank < foe_driver.name_rank
    return vehicle.speed < foe.speed


@compiled
def _foe_speed(
    driver: Driver, own: Motion, foe_speed: float, ahead: float, foe_ahead: float, line: float
) -> float:
    """MSVehicle::adaptToJunctionLeader: the speed that a foe on the crossing leaves.

    `line` is the way to the entry of the crossing.
    """
    gap = ahead - driver.min_gap - foe_ahead - LANE_WIDTH
    fits = gap >= 0
    safe = follow_speed(driver, own, gap, foe_speed) if fits else stop_speed(driver, own, line)
    if ahead >= 0:
        seconds = (ahead - gap) / max(foe_speed, HALTING)
        seconds = seconds if seconds != 0 else 1e-9
        way = ahead - driver.min_gap
        final = max(own.speed, 2 * way / seconds - own.speed)
        slowly = own.speed + (final - own.speed) / seconds * STEP
        safe = max(safe, min(slowly, stop_speed(driver, own, way)))
    return safe


@compiled
def leaving_time(way: float, arrival_speed: float, leave_speed: float) -> float:
    """MSLink::getLeaveTime: milliseconds from the arrival until the back has left the crossing."""
    return milliseconds(way / max(0.5 * (arrival_speed + leave_speed), EPS))


@compiled
def impatience_of(vehicle: Vehicle, driver: Driver) -> float:
    """MSVehicle::getImpatience: grows with waiting, from 0 to 1."""
    return min(max(driver.impatience + vehicle.waiting / IMPATIENT_MS, 0.0), 1.0)


@compiled
def is_blocked(
    number: int, vehicles: Any, drivers: Any, plan: DrivePlan, now: int, impatience: float
) -> bool:
    """MSLink::opened at the minor link: whether anybody announced at the major one is in time."""
    arrival, leaving = plan.minor_arrival, plan.minor_leaving
    for other in range(len(vehicles)):
        foe = vehicles[other]
        if not foe.passes_major or other == number or foe.major_leaving < arrival:
            continue
        foe_arrival = foe.major_arrival
        if impatience > 0 and arrival < foe_arrival:
            braked = _arrival_if_braked(foe, drivers[other].decel * impatience, arrival, now)
            mixed = (1.0 - impatience) * foe_arrival + impatience * braked
            foe_arrival = float(trunc(mixed))
        if foe_arrival <= leaving + LOOK_AHEAD_MS:
            return True
    return False


@compiled
def _arrival_if_braked(foe: Vehicle, decel: float, arrival: float, now: int) -> float:
    """MSLink::computeFoeArrivalTimeBraking: when a foe arrives that brakes for who cuts in."""
    foe_arrival = foe.major_arrival
    if floor(arrival / STEP_MS) == floor(foe_arrival / STEP_MS):
        return foe_arrival
    begin = ceil(arrival / STEP_MS) * STEP_MS
    seconds = (foe_arrival - begin) / 1000.0
    slower = seconds * decel
    until = (foe_arrival - now + STEP_MS) / 1000.0
    speed = foe.major_distance / (until if until > 0 else 1.0)
    left = foe.major_distance - speed * ((begin - now) / 1000.0)
    if 0.5 * speed * speed / decel <= left:
        return foe_arrival + 30000.0
    rest = speed - slower
    root = np.sqrt(max(0.0, rest * rest - decel * seconds * slower))
    return foe_arrival + milliseconds((rest - root) / decel)
