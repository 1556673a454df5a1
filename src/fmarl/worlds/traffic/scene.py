"""From actions to what agents see and earn: commands, the road, observations, reward; compiled.

The same arithmetic as `fmarl.worlds.sumo.figure_eight` and `observations`, in the same order.
"""

from math import floor
from typing import Any, NamedTuple

import numpy as np

from fmarl.worlds.traffic.car_following import STEP
from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.lanes import NUM_LANES, next_vehicle
from fmarl.worlds.traffic.records import RoadState
from fmarl.worlds.traffic.road import step

ROUNDING = 1e-6
"""Metres within which a place counts as the begin of an edge, as in `sumo.loop`."""
EPS32 = float(np.finfo(np.float32).eps)


class SceneSetting:
    """What does not change in a world: scales, rewards, and Flow's driver if the others have it."""

    gain: float
    """m/s that an action of 1 adds in a step."""
    per_limit: float
    reach: float
    """Share of the loop that a vehicle at the limit drives in a step."""
    loop_length: float
    vehicle_length: float
    """Of learners, as share of the loop."""
    relative: bool
    """Whether agents see gaps instead of places."""
    limit: float
    target_speed: float
    """0 rewards NAS, more rewards Flow's desired velocity."""
    has_flow_drivers: bool
    wanted_speed: float
    accel: float
    decel: float
    headway: float
    standing_gap: float
    exponent: float
    human_length: float


class Scene(NamedTuple):
    """A road, where everybody is on it, and who learns."""

    road: RoadState
    setting: Any
    """One row of `SceneSetting`."""
    places: Any
    """Of all vehicles, as share of the loop."""
    commands: Any
    """Speeds asked of all vehicles, negative for none."""
    learners: Any
    humans: Any


@compiled
def drive(scene: Scene, actions: Any, noise: Any) -> bool:
    """Command everybody, move the road, and count places on as FigureEightWorld does."""
    vehicles, places, setting = scene.road.vehicles, scene.places, scene.setting[0]
    for agent in range(len(actions)):
        number = scene.learners[agent]
        wanted = vehicles[number].speed + actions[agent] * setting.gain
        scene.commands[number] = max(wanted, 0.0)
    if setting.has_flow_drivers:
        _command_flow_drivers(scene, noise)
    crashed = step(scene.road, scene.commands)
    for number in range(len(places)):
        place = places[number] + vehicles[number].speed * setting.per_limit * setting.reach
        places[number] = place - floor(place)
    return crashed


@compiled
def _command_flow_drivers(scene: Scene, noise: Any) -> None:
    """FigureEightWorld._drive_humans: Flow's own IDM outside junctions, SUMO's inside them."""
    setting, lanes = scene.setting[0], scene.road.lanes
    for index in range(len(scene.humans)):
        number = scene.humans[index]
        if is_junction(lanes, scene.places[number] * setting.loop_length):
            scene.commands[number] = -1.0
        else:
            speed = scene.road.vehicles[number].speed
            accel = _flow_accel(scene, number, speed) + noise[number] * np.sqrt(STEP)
            scene.commands[number] = max(speed + accel * STEP, 0.0)


@compiled
def _flow_accel(scene: Scene, number: int, speed: float) -> float:
    """FlowDriver.acceleration: a [1 − (v/v0)^δ − (s*/s)²]."""
    setting, places = scene.setting[0], scene.places
    ahead, loop = next_vehicle(number, len(places)), setting.loop_length
    gap = (places[ahead] * loop - places[number] * loop) % loop - setting.human_length
    gap = 1e-3 if abs(gap) < 1e-3 else gap
    closing = speed * (speed - scene.road.vehicles[ahead].speed)
    closing = closing / (2 * np.sqrt(setting.accel * setting.decel))
    wanted_gap = setting.standing_gap + max(0.0, speed * setting.headway + closing)
    crowding = (wanted_gap / gap) * (wanted_gap / gap)
    return setting.accel * (1 - (speed / setting.wanted_speed) ** setting.exponent - crowding)


@compiled
def is_junction(lanes: Any, place: float) -> bool:
    """Loop.is_junction: whether a place on the loop, in metres, lies inside a junction."""
    edge = 0
    while edge + 2 < NUM_LANES and lanes[edge + 2].start <= place + ROUNDING:
        edge += 2
    return place - lanes[edge].start > lanes[edge].length + ROUNDING


@compiled
def observe(scene: Scene, observation: Any) -> None:
    """Own place and speed, then those of the one ahead and the one behind, or gaps to them."""
    setting, places, vehicles = scene.setting[0], scene.places, scene.road.vehicles
    per_limit, length = setting.per_limit, setting.vehicle_length
    for agent in range(len(scene.learners)):
        own = scene.learners[agent]
        ahead = next_vehicle(own, len(places))
        behind = own - 1 if own > 0 else len(places) - 1
        row, speed = observation[agent], vehicles[own].speed * per_limit
        ahead_speed = vehicles[ahead].speed * per_limit
        behind_speed = vehicles[behind].speed * per_limit
        row[0], row[1] = places[own], speed
        if setting.relative:
            row[2], row[3] = ahead_speed - speed, (places[ahead] - places[own]) % 1.0 - length
            row[4], row[5] = speed - behind_speed, (places[own] - places[behind]) % 1.0 - length
        else:
            row[2], row[3] = places[ahead], ahead_speed
            row[4], row[5] = places[behind], behind_speed


@compiled
def reward_of(scene: Scene) -> float:
    """NAS, or Flow's desired velocity (`sumo.observations`)."""
    setting, vehicles = scene.setting[0], scene.road.vehicles
    count, target, total = len(vehicles), setting.target_speed, 0.0
    if target == 0:
        for number in range(count):
            total += vehicles[number].speed
        return total / (count * setting.limit)
    for number in range(count):
        total += (vehicles[number].speed - target) ** 2
    wanted = target * np.sqrt(count)
    return max(wanted - np.sqrt(total), 0.0) / (wanted + EPS32)
