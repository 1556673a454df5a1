"""What is known of drivers, vehicles, lanes and plans: records that numba and NumPy both read.

A class here is a row of an array: its annotations are the columns. Times are whole milliseconds.
Section 2 of docs/sumo-rules.md says why each part of a vehicle's state is needed.
"""

from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np

Row = TypeVar("Row")

NUMBERS = {float: "f8", int: "i8", bool: "?"}


class Driver:
    """A vehicle's type and its driver's wishes; constant in an epoch."""

    accel: float
    decel: float
    """m/s², comfortable."""
    emergency_decel: float
    headway: float
    """Seconds kept to the vehicle ahead (SUMO's tau)."""
    min_gap: float
    length: float
    place_needed: float
    """Metres of lane that it takes up when it stands: length and min_gap."""
    top_speed: float
    wanted_speed: float
    """Of the type's and the lane's limit times the driver's factor the lower one."""
    impatience: float
    closing: float
    """IDM's 2√(ab)."""
    secure_gap: float
    """Metres from which a driver at the wanted speed begins to brake."""
    careful_arrival: float
    """Fastest arrival at a minor link that can not be looked into yet."""
    keeps_safe: bool
    """Whether a command is cut to the safe speed (1 of the speed mode)."""
    keeps_accel: bool
    """Whether a command is cut to the acceleration of the type (2)."""
    keeps_decel: bool
    """Whether a command is cut to the deceleration of the type (4)."""
    yields: bool
    """Whether the right of way at the crossing is kept (8)."""
    heeds_foes: bool
    """Whether those who are on the crossing are minded (not 32)."""
    name_rank: int
    """Place of its name in the alphabet, which decides the last tie."""


class Vehicle:
    """The state of a vehicle between two steps."""

    position: float
    """Of the front, in metres on its lane."""
    speed: float
    lane: int
    waiting: int
    """Since when it stands."""
    entered: int
    """When it entered the crossing; NEVER if it is not there or has yielded."""
    conflict: int
    """The same, but not renewed after yielding."""
    had_to_wait: bool
    """At its next link, in the last step."""
    passes_major: bool
    """What it announced in the last step: that it will pass the priority entry of the crossing,"""
    major_arrival: float
    major_leaving: float
    major_distance: float
    passes_exit: bool
    """and that it will pass the exit of the crossing."""


class Lane:
    """A lane of the loop, and who is on it now."""

    length: float
    start: float
    """Metres of loop before it."""
    scale: float
    """Metres of its drawn line per metre of its length."""
    behind_conflict: float
    """On the crossing: metres from the begin of the conflict area to the lane's end; else 0."""
    rearmost: int
    """The last vehicle: of those with their front on it, else who reaches back into it; −1: none"""
    rear_rank: float
    """What the rearmost was chosen by."""
    rear_back: float
    """Where its back is."""
    standing: int
    """The last one that stands, −1 if none."""
    taken: float
    """Metres that vehicles with their front on it take up."""
    space: float
    """Metres for others up to the last one that stands, or to the end."""


class LinkItem:
    """One link ahead, as planned in this step (SUMO's DriveProcessItem)."""

    pass_speed: float
    wait_speed: float
    distance: float
    room: float
    """Metres free behind it."""
    requests: bool
    """Whether the vehicle asks to pass."""
    ends_at_standing: bool
    """Whether the way behind it ends at a vehicle that stands."""


class DrivePlan:
    """What a vehicle plans in this step."""

    items: int
    lowest: float
    """Speed after braking with what is comfortable,"""
    highest: float
    """and after accelerating, at the end of the step."""
    brake_gap: float
    passes_major: bool
    passes_exit: bool
    major_arrival: float
    major_leaving: float
    major_distance: float
    minor_arrival: float
    minor_leaving: float
    arrival_speed: float
    """At the entry of the crossing looked at last,"""
    leave_speed: float
    """and at its exit."""
    at_least: float
    """Speed below which a minor link must not be crossed."""
    commit_distance: float
    commit_can_brake: bool


class RoadState(NamedTuple):
    """All of a world's road; arrays, so that compiled code changes them in place."""

    vehicles: Any
    """In the order of the loop: ahead of number i drives number i + 1."""
    drivers: Any
    lanes: Any
    items: Any
    """Links ahead of each vehicle."""
    plans: Any
    clock: Any
    """Milliseconds of the simulation, and how often a look ahead went around the whole loop."""


def rows(kind: type[Row], *shape: int) -> Any:
    """An array of zeros with a column for every annotation of a class."""
    columns = [(name, NUMBERS[number]) for name, number in get_type_hints(kind).items()]
    return np.zeros(shape, np.dtype(columns, align=True)).view(np.recarray)
