"""A vehicle moves: it passes or waits at the links it planned for, chooses its speed, and drives.

MSVehicle::executeMove; docs/sumo-rules.md, section 8.
"""

from typing import Any

from fmarl.worlds.traffic.car_following import (
    EPS,
    HALTING,
    POSITION_EPS,
    SPEED_EPS,
    STEP,
    STEP_MS,
    UNBOUNDED,
    brake_gap,
    commanded_speed,
    final_speed,
    motion_of,
    stop_speed,
)
from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.crossing import VISIBILITY, impatience_of, is_blocked
from fmarl.worlds.traffic.lanes import MINOR_ENTRY, is_inner, next_lane
from fmarl.worlds.traffic.records import DrivePlan, Driver, LinkItem, Vehicle

NEVER = 1_000_000_000
"""Milliseconds; an entry time of who is not on the crossing."""


@compiled
def move(
    number: int, vehicles: Any, drivers: Any, lanes: Any, items: Any, plan: DrivePlan,
    now: int, command: float,
) -> None:  # fmt: skip
    """MSVehicle::executeMove: decide, choose the speed, drive."""
    vehicle, driver = vehicles[number], drivers[number]
    plan.at_least = -UNBOUNDED
    safe, must_wait = _safe_speed(number, vehicles, drivers, items, plan, now)
    if safe + EPS < plan.at_least:
        safe, must_wait = _back_off(vehicle, driver, plan, safe, must_wait)
    speed = _chosen_speed(vehicle, driver, plan, safe, command)
    is_waiting = speed <= HALTING and (speed - vehicle.speed) / STEP <= 0.5 * driver.accel
    vehicle.waiting = vehicle.waiting + STEP_MS if is_waiting else 0
    vehicle.had_to_wait, vehicle.speed = must_wait, speed
    _drive(vehicle, lanes, now)


@compiled
def _safe_speed(
    number: int, vehicles: Any, drivers: Any, items: Any, plan: DrivePlan, now: int
) -> tuple[float, bool]:
    """MSVehicle::processLinkApproaches: link by link, up to the first at which it waits.

    The second is whether it has to wait there.
    """
    vehicle, driver = vehicles[number], drivers[number]
    lane, safe, must_wait = vehicle.lane, UNBOUNDED, False
    for count in range(plan.items):
        item = items[number, count]
        if not item.requests:
            if count == 0 and is_inner(lane):  # on the crossing it gives up its turn
                vehicle.entered = vehicle.conflict = NEVER
            slows = item.wait_speed < vehicle.speed or item.wait_speed < HALTING
            return item.wait_speed, must_wait or slows
        if lane == MINOR_ENTRY and driver.yields:
            if _gives_way(number, vehicles, drivers, item, plan, now):
                return item.wait_speed, True
            must_wait = must_wait or (plan.at_least >= 0 and _crawls(driver, item, plan))
        else:
            must_wait = must_wait or _crawls(driver, item, plan)
        safe = item.pass_speed
        if is_inner(vehicle.lane) and vehicle.entered == NEVER:
            vehicle.entered = now  # since SUMO 1.28
        lane = next_lane(lane)
    return safe, must_wait


@compiled
def _gives_way(
    number: int, vehicles: Any, drivers: Any, item: LinkItem, plan: DrivePlan, now: int
) -> bool:
    """Whether it gives way; else it is committed to cross with at least some speed."""
    vehicle, driver = vehicles[number], drivers[number]
    can_brake = item.distance > plan.brake_gap or vehicle.speed < driver.decel * STEP
    impatience = impatience_of(vehicle, driver) if can_brake else 1.0
    if is_blocked(number, vehicles, drivers, plan, now, impatience):
        emergency = brake_gap(vehicle.speed, driver.emergency_decel, 0.0)
        return can_brake or item.distance >= emergency
    if item.distance > VISIBILITY:
        return True
    reached = min((item.distance + POSITION_EPS) / STEP, item.pass_speed)
    plan.at_least = min(reached, plan.highest)
    plan.commit_distance, plan.commit_can_brake = item.distance, can_brake
    return False


@compiled
def _crawls(driver: Driver, item: LinkItem, plan: DrivePlan) -> bool:
    """Who is slowed down by others counts as having to wait."""
    speed = item.pass_speed
    return speed < driver.decel and speed <= item.wait_speed and speed < plan.highest


@compiled
def _back_off(
    vehicle: Vehicle, driver: Driver, plan: DrivePlan, safe: float, must_wait: bool
) -> tuple[float, bool]:
    """Too slow to cross the minor link: stop before it, if that is possible."""
    if plan.commit_can_brake and safe < vehicle.speed:
        own = motion_of(driver, vehicle.speed)
        stopping = stop_speed(driver, own, plan.commit_distance)
        plan.at_least = 0.0
        return min(safe, max(plan.lowest, stopping)), True
    plan.at_least = safe
    return safe, must_wait


@compiled
def _chosen_speed(
    vehicle: Vehicle, driver: Driver, plan: DrivePlan, safe: float, command: float
) -> float:
    """The model's speed, or the command (MSVehicle::processTraCISpeedControl)."""
    if command >= 0:
        return max(commanded_speed(driver, command, safe, plan.lowest, plan.highest), 0.0)
    speed = final_speed(driver, vehicle.speed, safe, plan.lowest, plan.highest)
    if speed > 0:
        speed = max(speed, plan.at_least)
    if abs(speed) < SPEED_EPS:
        speed = 0.0
    return max(speed, 0.0)


@compiled
def _drive(vehicle: Vehicle, lanes: Any, now: int) -> None:
    """MSVehicle::processLaneAdvances: Euler's step, over the ends of lanes."""
    position, lane = vehicle.position + vehicle.speed * STEP, vehicle.lane
    while position > lanes[lane].length:
        position -= lanes[lane].length
        lane = next_lane(lane)
        vehicle.entered = vehicle.conflict = now if is_inner(lane) else NEVER
    vehicle.position, vehicle.lane = position, lane
