"""Nobody enters the crossing without room behind it.

MSVehicle::checkRewindLinkLanes; docs/sumo-rules.md, section 7.
"""

from typing import Any

from fmarl.worlds.traffic.car_following import POSITION_EPS
from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.crossing import impatience_of, is_blocked
from fmarl.worlds.traffic.lanes import (
    MAJOR_ENTRY,
    MINOR_ENTRY,
    NUM_LANES,
    is_entry,
    is_inner,
    next_lane,
    next_vehicle,
)
from fmarl.worlds.traffic.records import DrivePlan, LinkItem


@compiled
def keep_clear(
    number: int, vehicles: Any, drivers: Any, lanes: Any, items: Any, plan: DrivePlan, now: int
) -> None:
    """Take back the request to enter the crossing where there is no room behind it."""
    lane = vehicles[number].lane
    if not _sees_entry(lane, plan.items):
        return
    held_up = _measure_room(number, vehicles, drivers, lanes, items, plan)
    held_up = _pass_room_back(number, held_up, vehicles, drivers, items, plan, now)
    if held_up:
        _take_back_requests(number, lane, drivers[number].place_needed, items, plan)


@compiled
def _sees_entry(lane: int, count: int) -> bool:
    """Whether an entry of the crossing is among the next links."""
    return lane <= MINOR_ENTRY < lane + count or lane == MAJOR_ENTRY or lane + count > NUM_LANES


@compiled
def _measure_room(
    number: int, vehicles: Any, drivers: Any, lanes: Any, items: Any, plan: DrivePlan
) -> bool:
    """Sum the space behind every link, until somebody stands; whether somebody does."""
    room = -_taken_ahead(number, vehicles, drivers)
    lane, held_up = vehicles[number].lane, False
    for count in range(plan.items):
        item = items[number, count]
        item.ends_at_standing = False
        if not held_up:
            room += _room_behind(number, lane, vehicles, lanes, item)
            held_up = item.ends_at_standing or _stands_on_joint(lane, lanes)
        item.room = room
        lane = next_lane(lane)
    return held_up


@compiled
def _taken_ahead(number: int, vehicles: Any, drivers: Any) -> float:
    """Metres that vehicles ahead on the own lane take up."""
    vehicle, taken = vehicles[number], 0.0
    ahead = next_vehicle(number, len(vehicles))
    while (
        ahead != number
        and vehicles[ahead].lane == vehicle.lane
        and vehicles[ahead].position > vehicle.position
    ):
        taken += drivers[ahead].place_needed
        ahead = next_vehicle(ahead, len(vehicles))
    return taken


@compiled
def _room_behind(number: int, lane: int, vehicles: Any, lanes: Any, item: LinkItem) -> float:
    """Space on the lane behind a link; the crossing itself must be clear, so it gives none."""
    behind = lanes[next_lane(lane)]
    if is_entry(lane):
        return -behind.taken
    if is_inner(lane):
        if behind.rearmost < 0 or behind.rearmost == number:
            return behind.length
        stands = behind.standing >= 0 or vehicles[behind.rearmost].had_to_wait
        item.ends_at_standing = stands
    return behind.space


@compiled
def _stands_on_joint(lane: int, lanes: Any) -> bool:
    """Whether somebody stands on the inner lane behind a link that is no entry of the crossing."""
    if is_inner(lane) or is_entry(lane):
        return False
    return lanes[next_lane(lane)].standing >= 0


@compiled
def _pass_room_back(
    number: int, held_up: bool, vehicles: Any, drivers: Any, items: Any, plan: DrivePlan, now: int
) -> bool:
    """From the last link to the first: what lies behind an open link is room before it too."""
    for count in range(plan.items - 1, 0, -1):
        if not _is_open(number, count, vehicles, drivers, items, plan, now):
            held_up = True
        elif not items[number, count - 1].ends_at_standing:
            items[number, count - 1].room = items[number, count].room
    return held_up


@compiled
def _is_open(
    number: int, count: int, vehicles: Any, drivers: Any, items: Any, plan: DrivePlan, now: int
) -> bool:
    """Whether a vehicle will leave the lane behind a link, by what others announced last."""
    vehicle, driver = vehicles[number], drivers[number]
    lane = (vehicle.lane + count - 1) % NUM_LANES
    if not is_inner(lane) and not items[number, count].requests:
        return False
    if count == 1 or lane != MINOR_ENTRY or not driver.yields:
        return True
    impatience = impatience_of(vehicle, driver)
    return not is_blocked(number, vehicles, drivers, plan, now, impatience)


@compiled
def _take_back_requests(number: int, lane: int, needed: float, items: Any, plan: DrivePlan) -> None:
    """From the first entry of the crossing on behind which there is too little room."""
    removing, before_requests = False, True
    for count in range(plan.items):
        item = items[number, count]
        removing = removing or (is_entry(lane) and item.room < needed)
        if removing:
            item.pass_speed = item.wait_speed
            can_stop = item.distance >= plan.brake_gap + POSITION_EPS
            if can_stop and not (is_inner(lane) and before_requests):
                item.requests = False
        before_requests = item.requests
        lane = next_lane(lane)
