"""SUMO's intelligent-driver model and braking: from gaps to speeds. docs/sumo-rules.md, section 4.

Gaps are handed in without min_gap, as SUMO does. The order of every sum and product is SUMO's:
another one would differ in the last bit, and a rounding to milliseconds can make that bit matter.
"""

from math import floor, trunc
from typing import NamedTuple

import numpy as np

from fmarl.worlds.traffic.compiled import compiled
from fmarl.worlds.traffic.records import Driver

STEP = 0.1
"""Seconds of a step,"""
STEP_MS = 100
"""and milliseconds."""
EPS = 1e-3
"""SUMO's NUMERICAL_EPS."""
POSITION_EPS = 0.1
HALTING = 0.1
"""m/s below which a vehicle counts as standing (SUMO_const_haltingSpeed)."""
SPEED_EPS = 0.1 * EPS * STEP
UNBOUNDED = 1e30
DELTA = 4.0
"""IDM's exponent; a power of libm, as in SUMO: two squares differ in the last bit."""


class Motion(NamedTuple):
    """How fast a vehicle is."""

    speed: float
    headroom: float
    """IDM's 1 − (v/v0)^δ."""


@compiled
def milliseconds(seconds: float) -> float:
    """TIME2STEPS: whole milliseconds, rounded to the nearest."""
    return float(trunc(seconds * 1000.0 + (0.5 if seconds >= 0 else -0.5)))


@compiled
def motion_of(driver: Driver, speed: float) -> Motion:
    """IDM's share of a speed, worked out once: a power is dear, and SUMO's is libm's."""
    return Motion(speed, 1.0 - (speed / max(EPS, driver.wanted_speed)) ** DELTA)


@compiled
def idm_speed(driver: Driver, own: Motion, gap: float, wanted_gap: float) -> float:
    """MSCFModel_IDM::_v, its one iteration: the speed at the end of the step."""
    usable = max(EPS, gap)
    crowding = (wanted_gap * wanted_gap) / (usable * usable)
    return max(0.0, own.speed + driver.accel * (own.headroom - crowding) * STEP)


@compiled
def follow_speed(driver: Driver, own: Motion, gap: float, leader_speed: float) -> float:
    """MSCFModel_IDM::followSpeed."""
    closing = own.speed * (own.speed - leader_speed) / driver.closing
    wanted_gap = max(0.0, own.speed * driver.headway + closing) + driver.min_gap
    return idm_speed(driver, own, gap + driver.min_gap, wanted_gap)


@compiled
def approach_speed(driver: Driver, own: Motion, gap: float) -> float:
    """MSCFModel_IDM::_v towards a point that stands, without min_gap."""
    closing = own.speed * own.speed / driver.closing
    return idm_speed(driver, own, gap, max(0.0, own.speed * driver.headway + closing))


@compiled
def stop_speed(driver: Driver, own: Motion, gap: float) -> float:
    """MSCFModel_IDM::stopSpeed; one that stands still creeps up to the line as Krauss's does."""
    if gap < 0.01:
        return 0.0
    next_speed = approach_speed(driver, own, gap)
    if own.speed < EPS and next_speed < EPS:
        next_speed = krauss_stop_speed(driver.decel, gap, STEP)
    return min(next_speed, gap / STEP)


@compiled
def krauss_stop_speed(decel: float, gap: float, headway: float) -> float:
    """MSCFModel::maximumSafeStopSpeedEuler: n whole steps of braking, and what is left of the gap.

    n = ⌊½ − (t − ½√(s² + 4(s(2g/b − t) + t²)))/s⌋,  t headway, s step, b decel · s
    """
    if gap - EPS < 0:
        return 0.0
    usable, slower = gap - EPS, decel * STEP
    root = np.sqrt(
        STEP * STEP + 4.0 * (STEP * (2.0 * usable / slower - headway) + headway * headway)
    )
    steps = floor(0.5 - ((headway - 0.5 * root) / STEP))
    used = 0.5 * steps * (steps - 1) * slower * STEP + steps * slower * headway
    return steps * slower + (usable - used) / (steps * STEP + headway)


@compiled
def brake_gap(speed: float, decel: float, headway: float) -> float:
    """MSCFModel::brakeGapEuler: metres until it stands, braking from the next step on."""
    slower = decel * STEP
    steps = float(trunc(speed / slower))
    return (steps * speed - slower * steps * (steps + 1) / 2) * STEP + speed * headway


@compiled
def free_speed(driver: Driver, own: Motion) -> float:
    """MSCFModel_IDM::freeSpeed towards a lane of the same limit, for who keeps the limit."""
    closing = own.speed * (own.speed - driver.wanted_speed) / driver.closing
    return idm_speed(driver, own, 1e6, max(0.0, own.speed * driver.headway + closing))


@compiled
def speed_after(accel: float, top_speed: float, distance: float, speed: float) -> float:
    """MSCFModel::estimateSpeedAfterDistance."""
    return min(top_speed, np.sqrt(2 * distance * accel + speed * speed))


@compiled
def minimal_arrival_time(
    driver: Driver, distance: float, speed: float, arrival_speed: float
) -> float:
    """MSCFModel::getMinimalArrivalTime: accelerate or brake to a speed, then hold it."""
    if distance <= 0:
        return 0.0
    change = driver.accel if arrival_speed >= speed else -driver.decel
    seconds = (arrival_speed - speed) / change
    way = seconds * (arrival_speed + speed) * 0.5
    if distance >= way:
        held = (distance - way) / max(max(speed, arrival_speed), HALTING)
        return milliseconds(seconds + held)
    root = np.sqrt(max(0.0, speed * speed + 2 * change * distance))
    return milliseconds((root - speed) / change)


@compiled
def final_speed(driver: Driver, speed: float, safe: float, lowest: float, highest: float) -> float:
    """MSCFModel::finalizeSpeed: the safe speed within what the vehicle can do; IDM has no sigma."""
    emergency = max(speed - driver.emergency_decel * STEP, 0.0)
    at_least = min(lowest, max(safe, emergency))
    return max(at_least, min(min(max(driver.wanted_speed, safe), highest), safe))


@compiled
def commanded_speed(
    driver: Driver, command: float, safe: float, lowest: float, highest: float
) -> float:
    """MSVehicle::Influencer::influenceSpeed: a command within the checks of the speed mode."""
    speed = command
    if driver.keeps_safe:
        speed = min(speed, safe)
    if driver.keeps_accel:
        speed = min(speed, highest)
    if driver.keeps_decel:
        speed = max(speed, lowest)
    return speed
