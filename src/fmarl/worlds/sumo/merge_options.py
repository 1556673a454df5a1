"""Options of the Merge world, its presets, and the road and traffic that follow from them."""

from dataclasses import dataclass, field
from typing import Literal

from fmarl.errors import BadInput, require, require_positive
from fmarl.worlds.sumo.roads.description import Road, merge_road
from fmarl.worlds.sumo.vehicles import VehicleType

HIGHWAY = ("inflow_highway", ":left_0", "left", ":center_1", "center")
RAMP = ("inflow_merge", ":bottom_0", "bottom", ":center_0", "center")
EDGES = (*HIGHWAY, *RAMP[:-1])


@dataclass(frozen=True, kw_only=True)
class Merge:
    """Options of the world; the defaults are the preset `zju`."""

    before: float = 500.0
    """Metres of highway before the ramp."""
    after: float = 100.0
    ramp: float = 100.0
    inflow: float = 100.0
    """Metres on which vehicles enter, on both arms."""
    speed_limit: float = 20.0
    """m/s, on the whole road; also what NAS is measured against."""
    limit_turn_speed: bool = True
    """Whether the ramp's bend has its lower limit, as SUMO compiles it today."""
    highway_per_hour: float = 2000.0
    ramp_per_hour: float = 100.0
    highway_entry_speed: float = 10.0
    ramp_entry_speed: float = 7.5
    num_learners: int = 5
    vehicle_type: VehicleType = field(default_factory=VehicleType)
    max_accel: float = 1.5
    """m/s² that an action of 1 asks for, and one of −1 brakes with."""
    learner_speed_mode: int = 1
    """SUMO's checks for learners (`vehicles.py`)."""
    human_speed_mode: int = 9
    """SUMO's checks for the others. 9 keeps about 50 vehicles on the road, as the paper says; with
    31 there are 60, which hardly move, with 1 about 40."""
    controlled: bool = True
    """Whether actions are obeyed; False leaves learners to SUMO, with the others' checks: the
    all-SUMO baseline."""
    reward: Literal["nas", "desired_velocity"] = "nas"
    target_speed: float = 20.0
    """m/s, for `desired_velocity`."""
    state: Literal["absolute", "relative"] = "absolute"
    warm_up_steps: int = 1500
    """Steps that SUMO drives alone, until the road is congested."""
    start_places: tuple[tuple[str, float], ...] = ()
    """Vehicles that stand on the road from the start: an edge, and metres on it."""
    step_seconds: float = 0.1
    steps_per_action: int = 1
    """Steps of the simulation in which an action holds."""
    epoch_steps: int = 1500
    """Actions in an epoch."""

    def road(self) -> Road:
        return merge_road(
            before=self.before,
            after=self.after,
            ramp=self.ramp,
            inflow=self.inflow,
            speed_limit=self.speed_limit,
            limit_turn_speed=self.limit_turn_speed,
        )


PRESETS: dict[str, Merge] = {
    "zju": Merge(),
    "flow": Merge(
        speed_limit=30.0,
        vehicle_type=VehicleType(accel=2.6, decel=4.5),
        learner_speed_mode=9,
        human_speed_mode=9,
        reward="desired_velocity",
        warm_up_steps=0,
        start_places=(
            ("inflow_highway", 0.0),
            ("left", 79.9),
            ("left", 259.9),
            ("left", 439.9),
            ("center", 97.4),
        ),
        step_seconds=0.5,
        steps_per_action=2,
        epoch_steps=750,
    ),
}


def distances_to_exit(lanes: dict[str, float]) -> dict[str, float]:
    """Metres from the begin of every edge, on either arm, to the exit."""
    found: dict[str, float] = {}
    for arm in (RAMP, HIGHWAY):
        lengths = [lanes[f"{edge}_0"] for edge in arm]
        found |= {edge: sum(lengths[index:]) for index, edge in enumerate(arm)}
    return found


def merge_traffic(options: Merge) -> str:
    """The route file, sorted in time as SUMO wants it: who stands there, then who will come."""
    highway, ramp = (" ".join(e for e in arm if e[0] != ":") for arm in (HIGHWAY, RAMP))
    flow = '<flow id="{0}" type="car" route="{0}" begin="1" end="86400" vehsPerHour="{1:g}" '
    flow += 'departSpeed="{2:g}" departLane="free"/>'
    return (
        f"<routes>{options.vehicle_type.to_xml('car', options.speed_limit)}"
        f'<route id="highway" edges="{highway}"/><route id="ramp" edges="{ramp}"/>'
        + "".join(_parked(number, *place) for number, place in enumerate(options.start_places))
        + flow.format("highway", options.highway_per_hour, options.highway_entry_speed)
        + flow.format("ramp", options.ramp_per_hour, options.ramp_entry_speed)
        + "</routes>"
    )


def _parked(number: int, edge: str, metres: float) -> str:
    """A vehicle that is there from the start, with a route to the exit."""
    arm = next((arm for arm in (HIGHWAY, RAMP) if edge in arm), None)
    if arm is None or edge[0] == ":":
        edges = ", ".join(edge for edge in EDGES if edge[0] != ":")
        raise BadInput(f"start place on {edge!r} is not allowed: {edges}. Choose one of them.")
    way = " ".join(part for part in arm[arm.index(edge) :] if part[0] != ":")
    return (
        f'<vehicle id="standing.{number}" type="car" depart="0" departPos="{metres:g}" '
        f'departSpeed="0"><route edges="{way}"/></vehicle>'
    )


def check_options(options: Merge) -> None:
    """Refuse what can not be, before any simulation starts."""
    require(
        1 <= options.num_learners <= 30,
        f"num_learners = {options.num_learners}",
        "1 to 30 of about 50 vehicles",
        "The paper has 5.",
    )
    require_positive(
        step_seconds=options.step_seconds,
        steps_per_action=options.steps_per_action,
        max_accel=options.max_accel,
        epoch_steps=options.epoch_steps,
        highway_per_hour=options.highway_per_hour,
        ramp_per_hour=options.ramp_per_hour,
    )
