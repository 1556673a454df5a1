"""Whether two vehicles touch: on one lane, or by their outlines where the lanes cross.

MSLane::detectCollisions with collision.mingap-factor 0 and collision.check-junctions;
docs/sumo-rules.md, section 10.
"""

from typing import Any

from fmarl.worlds.traffic.car_following import EPS, UNBOUNDED
from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.lanes import (
    LANE_WIDTH,
    MAJOR_CROSSING,
    MINOR_CROSSING,
    next_lane,
    next_vehicle,
    previous_lane,
)
from fmarl.worlds.traffic.records import Driver, Vehicle

HALF_WIDTH = 0.9
"""Of a vehicle, in metres,"""
HALF_END = 0.54
"""and at its front and back end: a box with its corners cut off."""
CUT = 0.1
"""Share of the length that the corners are cut off by."""
OUTLINE = ((0.0, HALF_END), (CUT, HALF_WIDTH), (1.0 - CUT, HALF_WIDTH), (1.0, HALF_END))
"""Corners of one side: share of the length behind the front, metres from the middle line."""


@compiled
def any_collision(vehicles: Any, drivers: Any, lanes: Any) -> bool:
    """Whether any two vehicles touch now."""
    for number in range(len(vehicles)):
        if _hits_next(number, vehicles, drivers, lanes):
            return True
        vehicle, driver = vehicles[number], drivers[number]
        front, back = _place_at_crossing(MAJOR_CROSSING, vehicle, driver, lanes)
        if front < UNBOUNDED and _hit_on_crossing(front, back, vehicles, drivers, lanes):
            return True
    return False


@compiled
def _hits_next(number: int, vehicles: Any, drivers: Any, lanes: Any) -> bool:
    """A rear-end collision.

    A vehicle that only reaches back into a lane is held against the rearmost one there, not against
    the one behind it: across the end of a lane only who is last on it is seen.
    """
    count, ahead = len(vehicles), next_vehicle(number, len(vehicles))
    vehicle, leader = vehicles[number], vehicles[ahead]
    if leader.lane == vehicle.lane:
        way = leader.position - vehicle.position
    elif vehicles[number - 1 if number > 0 else count - 1].lane == vehicle.lane:
        return False
    else:
        way = _way_between(vehicle, leader, lanes)
    return 0 <= way < drivers[ahead].length - EPS


@compiled
def _way_between(vehicle: Vehicle, leader: Vehicle, lanes: Any) -> float:
    """Metres from front to front, if the leader is on one of the next two lanes."""
    second = next_lane(vehicle.lane)
    rest = lanes[vehicle.lane].length - vehicle.position
    if leader.lane == second:
        return rest + leader.position
    if leader.lane == next_lane(second):
        return rest + lanes[second].length + leader.position
    return UNBOUNDED


@compiled
def _hit_on_crossing(front: float, back: float, vehicles: Any, drivers: Any, lanes: Any) -> bool:
    for number in range(len(vehicles)):
        foe_front, foe_back = _place_at_crossing(
            MINOR_CROSSING, vehicles[number], drivers[number], lanes
        )
        if foe_front < UNBOUNDED and outlines_meet(front, back, foe_front, foe_back):
            return True
    return False


@compiled
def _place_at_crossing(
    crossing: int, vehicle: Vehicle, driver: Driver, lanes: Any
) -> tuple[float, float]:
    """Drawn metres of front and back beyond the middle; UNBOUNDED if it is not on the lane.

    MSVehicle::getBoundingPoly: edges are drawn shorter than they are (`Lane.scale`).
    """
    here, metres = lanes[crossing], vehicle.position
    middle = here.length - here.behind_conflict + 0.5 * LANE_WIDTH
    if vehicle.lane == crossing:
        front, back = metres, metres - driver.length
        if back < 0:
            back *= lanes[previous_lane(crossing)].scale
    elif vehicle.lane == crossing + 1 and metres < driver.length:
        front = here.length + metres * lanes[crossing + 1].scale
        back = here.length + metres - driver.length
    else:
        return UNBOUNDED, UNBOUNDED
    return front - middle, back - middle


@compiled
def outlines_meet(front: float, back: float, foe_front: float, foe_back: float) -> bool:
    """PositionVector::overlapsWith for two vehicles that drive at right angles to each other.

    Two convex outlines are apart if on one axis, at right angles to a side, their shadows are. The
    first drives along y, the foe along −x; places are metres beyond the middle of the crossing.
    """
    if not (front > -HALF_WIDTH and back < HALF_WIDTH):
        return False
    if not (foe_front > -HALF_WIDTH and foe_back < HALF_WIDTH):
        return False
    cut, narrower = CUT * (front - back), HALF_WIDTH - HALF_END
    foe_cut = CUT * (foe_front - foe_back)
    for x, y in ((cut, narrower), (cut, -narrower), (narrower, foe_cut), (narrower, -foe_cut)):
        if not _shadows_meet(x, y, front, back, foe_front, foe_back):
            return False
    return True


@compiled
def _shadows_meet(
    x: float, y: float, front: float, back: float, foe_front: float, foe_back: float
) -> bool:
    low = foe_low = UNBOUNDED
    high = foe_high = -UNBOUNDED
    for share, aside in OUTLINE:
        place = front + share * (back - front)
        foe_place = foe_front + share * (foe_back - foe_front)
        for side in (aside, -aside):
            shadow, foe_shadow = side * x + place * y, -foe_place * x + side * y
            low, high = min(low, shadow), max(high, shadow)
            foe_low, foe_high = min(foe_low, foe_shadow), max(foe_high, foe_shadow)
    return high > foe_low and foe_high > low
