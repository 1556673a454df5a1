"""A vehicle plans: it walks along the lanes ahead and notes what to do at every link.

MSVehicle::planMoveInternal; docs/sumo-rules.md, section 5. What changes from lane to lane is held
in local variables and not in a record: that is twice as fast.
"""

from typing import Any

from fmarl.worlds.traffic.car_following import (
    HALTING,
    POSITION_EPS,
    SPEED_EPS,
    STEP,
    STEP_MS,
    UNBOUNDED,
    Motion,
    approach_speed,
    brake_gap,
    commanded_speed,
    follow_speed,
    free_speed,
    minimal_arrival_time,
    motion_of,
    speed_after,
    stop_speed,
)
from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.crossing import VISIBILITY, leaving_time, speed_for_foes
from fmarl.worlds.traffic.lanes import (
    MAJOR_ENTRY,
    MINOR_ENTRY,
    NUM_LANES,
    back_on,
    is_crossing,
    is_entry,
    is_inner,
    next_lane,
    next_vehicle,
    previous_lane,
)
from fmarl.worlds.traffic.records import DrivePlan, Driver, Vehicle

MOST_ITEMS = NUM_LANES
"""Links that a vehicle can look at: once around the loop. Usually three."""
STOP_OFFSET = 1.0
"""Metres before a link with priority at which a vehicle would stop."""


@compiled
def look_ahead(
    number: int, vehicles: Any, drivers: Any, lanes: Any, items: Any, plan: DrivePlan,
    now: int, command: float,
) -> bool:  # fmt: skip
    """Fill in the items ahead of a vehicle; whether it sees enough before it sees itself."""
    vehicle, driver = vehicles[number], drivers[number]
    own, lane = motion_of(driver, vehicle.speed), vehicle.lane
    speed, lookout = _begin(own.speed, driver, plan, command)
    free, shortest_stop, lowest = free_speed(driver, own), plan.brake_gap, plan.lowest
    limit = max(driver.wanted_speed, lowest)
    seen = lanes[lane].length - vehicle.position
    seen_edges, seen_inner, slowed = 0.0, seen if is_inner(lane) else 0.0, False
    arrival = min(speed_after(driver.accel, driver.top_speed, seen, speed), limit)
    for count in range(MOST_ITEMS):
        if count == 0:
            safe = _speed_behind_next(number, own, vehicles, drivers, lanes)
        else:
            safe = _speed_behind_rearmost(number, own, lane, seen, vehicles, drivers, lanes)
        speed, arrival = min(speed, safe), min(arrival, safe)
        if count > 0:
            items[number, count - 1].wait_speed = min(items[number, count - 1].wait_speed, speed)
        item = items[number, count]
        item.requests = _may_request(lane, speed, slowed, count)
        line = _stop_line(lane, seen, shortest_stop)
        item.wait_speed = min(speed, stop_speed(driver, own, line))
        if is_crossing(lane):
            speed = _cross(
                number, own, lane, seen, speed, count, vehicles, drivers, lanes, items, plan
            )
        elif is_entry(lane):
            slowed |= _arrive(lane, seen, speed, arrival, driver, lanes, plan, now)
        item.pass_speed, item.distance, plan.items = speed, seen, count + 1
        may_end = not item.requests or speed <= 0 or seen > lookout
        far = seen_edges > max(driver.length * 5, driver.length + seen_inner)
        if may_end and far and (count > 0 or is_inner(lane)):
            return True
        speed = min(speed, _speed_beyond(own, free, lowest, seen, driver))
        lane = next_lane(lane)
        length = lanes[lane].length
        seen += length
        if is_inner(lane):
            seen_inner += length
        else:
            seen_edges += length
        if is_entry(lane):
            fastest = speed_after(driver.accel, driver.top_speed, length, speed)
            arrival = min(fastest, driver.wanted_speed)
    return False


@compiled
def _begin(
    own_speed: float, driver: Driver, plan: DrivePlan, command: float
) -> tuple[float, float]:
    """What the vehicle can do in this step: the speed to plan with, and how far it must look."""
    highest = min(own_speed + driver.accel * STEP, driver.top_speed)
    slower = max(driver.decel, min(driver.emergency_decel, 1.5)) * STEP
    lowest = max(own_speed - slower, 0.0)
    plan.highest, plan.lowest = highest, lowest
    plan.brake_gap = brake_gap(own_speed, driver.decel, 0.0)
    plan.passes_major = plan.passes_exit = False
    speed = min(highest, max(driver.wanted_speed, lowest))
    if command >= 0:
        speed = commanded_speed(driver, command, speed, lowest, highest)
    return speed, highest * STEP + brake_gap(highest, driver.decel, driver.headway)


@compiled
def _speed_behind_next(number: int, own: Motion, vehicles: Any, drivers: Any, lanes: Any) -> float:
    """MSVehicle::adaptToLeader on the own lane: the next vehicle, if any of it is on the lane."""
    ahead = next_vehicle(number, len(vehicles))
    vehicle, driver, leader = vehicles[number], drivers[number], vehicles[ahead]
    if not _is_ahead_on_lane(vehicle, leader, drivers[ahead].length, lanes):
        return UNBOUNDED
    back = back_on(vehicle.lane, leader, drivers[ahead], lanes)
    gap = back - vehicle.position - driver.min_gap
    return follow_speed(driver, own, gap, leader.speed)


@compiled
def _is_ahead_on_lane(vehicle: Vehicle, leader: Vehicle, length: float, lanes: Any) -> bool:
    """Whether any part of the next vehicle is on this lane, before this one."""
    if leader.lane == vehicle.lane:
        return leader.position >= vehicle.position
    second = next_lane(vehicle.lane)
    if leader.lane == second:
        return leader.position < length
    return leader.lane == next_lane(second) and lanes[second].length + leader.position < length


@compiled
def _speed_behind_rearmost(
    number: int, own: Motion, lane: int, seen: float, vehicles: Any, drivers: Any, lanes: Any
) -> float:
    """MSVehicle::adaptToLeaders on a lane ahead: its last vehicle."""
    here = lanes[lane]
    rear = here.rearmost
    if rear < 0 or rear == number:
        return UNBOUNDED
    driver, leader = drivers[number], vehicles[rear]
    gap = here.rear_back + seen - here.length - driver.min_gap
    if gap < 0 and _reaches_aside(vehicles[number].lane, lane, leader, drivers[rear].length, lanes):
        inside = 0.0 if is_inner(lane) else lanes[previous_lane(lane)].length
        return stop_speed(driver, own, seen - here.length - POSITION_EPS - inside)
    return follow_speed(driver, own, gap, leader.speed)


@compiled
def _reaches_aside(own_lane: int, lane: int, leader: Vehicle, length: float, lanes: Any) -> bool:
    """MSVehicle::adaptToLeader's trap: the leader's back is still inside a junction before."""
    back_lane, beyond = leader.lane, leader.position
    while beyond < length:
        back_lane = previous_lane(back_lane)
        beyond += lanes[back_lane].length
    if back_lane == lane:
        return False
    lanes_to_back = (back_lane - own_lane + NUM_LANES) % NUM_LANES
    lanes_to_here = (lane - own_lane + NUM_LANES) % NUM_LANES
    return is_inner(back_lane) or lanes_to_back >= lanes_to_here


@compiled
def _may_request(lane: int, speed: float, slowed: bool, count: int) -> bool:
    """Who moves asks to pass, but not at edges behind a minor link; on a junction everybody."""
    if is_inner(lane):
        return speed > SPEED_EPS or count == 0
    return speed > SPEED_EPS and not slowed


@compiled
def _stop_line(lane: int, seen: float, brake_gap: float) -> float:
    """Metres to where who waits would stop: the stop offset, if it can brake for that."""
    offset = 0.0 if lane == MINOR_ENTRY else STOP_OFFSET
    if seen >= brake_gap:
        offset = min(offset, seen - brake_gap)
    return max(0.0, seen - max(POSITION_EPS, offset))


@compiled
def _cross(
    number: int, own: Motion, lane: int, seen: float, speed: float, count: int,
    vehicles: Any, drivers: Any, lanes: Any, items: Any, plan: DrivePlan,
) -> float:  # fmt: skip
    """MSVehicle::adaptToJunctionLeader: the speed that those on the crossing leave."""
    item, driver = items[number, count], drivers[number]
    safe, is_stuck = speed_for_foes(number, own, lane, seen, vehicles, drivers, lanes)
    if safe < UNBOUNDED:
        speed = min(speed, safe)
        if count > 0:
            speed = max(speed, items[number, count - 1].wait_speed)
        if is_stuck and speed < HALTING:
            item.requests = False
        item.wait_speed = min(item.wait_speed, speed)
    if count > 0:
        behind = _leave_behind_rearmost(number, lane, seen, vehicles, drivers, lanes, plan)
        plan.leave_speed = min(min(min(plan.leave_speed, behind), safe), driver.wanted_speed)
        _note_leaving(previous_lane(lane), driver, lanes, plan)
    return speed


@compiled
def _leave_behind_rearmost(
    number: int, lane: int, seen: float, vehicles: Any, drivers: Any, lanes: Any, plan: DrivePlan
) -> float:
    """The speed at the exit of the crossing behind its last vehicle."""
    here, driver = lanes[lane], drivers[number]
    if here.rearmost < 0 or here.rearmost == number:
        return UNBOUNDED
    gap = here.rear_back + seen - here.length - driver.min_gap
    leaving = motion_of(driver, plan.leave_speed)
    return follow_speed(driver, leaving, gap, vehicles[here.rearmost].speed)


@compiled
def _arrive(
    lane: int, seen: float, speed: float, arrival_speed: float,
    driver: Driver, lanes: Any, plan: DrivePlan, now: int,
) -> bool:  # fmt: skip
    """When and how fast the crossing is reached: carefully, if it can not be looked into yet."""
    careful = lane == MINOR_ENTRY and plan.brake_gap < seen and seen > VISIBILITY
    if careful:
        arrival_speed = min(arrival_speed, driver.careful_arrival)
    arrival = now - STEP_MS + minimal_arrival_time(driver, seen, speed, arrival_speed)
    crossing = lanes[next_lane(lane)].length
    fastest = speed_after(driver.accel, driver.top_speed, crossing, arrival_speed)
    plan.arrival_speed, plan.leave_speed = arrival_speed, min(driver.wanted_speed, fastest)
    if lane == MAJOR_ENTRY:
        plan.major_arrival, plan.major_distance = arrival, seen
    else:
        plan.minor_arrival = arrival
    _note_leaving(lane, driver, lanes, plan)
    return careful


@compiled
def _note_leaving(entry: int, driver: Driver, lanes: Any, plan: DrivePlan) -> None:
    """When the crossing is left; noted at its entry, and again when the lane behind is known."""
    way = lanes[next_lane(entry)].length + driver.length
    taken = leaving_time(way, plan.arrival_speed, plan.leave_speed)
    if entry == MAJOR_ENTRY:
        plan.major_leaving = plan.major_arrival + taken
    else:
        plan.minor_leaving = plan.minor_arrival + taken


@compiled
def _speed_beyond(own: Motion, free: float, lowest: float, seen: float, driver: Driver) -> float:
    """Every lane has the same limit, so only who is too fast brakes for that of the next one."""
    if own.speed > driver.wanted_speed:
        free = approach_speed(driver, own, max(seen, driver.secure_gap))
    if seen < driver.secure_gap:
        free = min(free, driver.wanted_speed)
    return max(free, lowest)
