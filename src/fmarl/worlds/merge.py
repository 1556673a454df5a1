"""Merge: a one-lane highway with an on-ramp, about 50 vehicles, five of them learning.

    inflow      before the ramp (500 m)           after
    ───────────────────────────────────────────────────────▶
     100 m                               ╱  crossing  100 m
                                ramp  ╱
                           100 m   ╱
                    inflow 100 m ╱

Nobody has priority by sign, so the ramp, which comes from the right, goes first and the highway
waits: that is what makes the stop-and-go waves. After the warm-up the road is congested.

Agents: `num_learners` vehicles drawn at random at the start of each epoch, numbered in road order
from the front. A learner that leaves the road is replaced by the next vehicle to enter; until then
its agent is absent (rows of zeros). Vehicles come and go, so neighbours are asked for, not assumed.

Observation, six numbers per agent, `state="absolute"` (positions as share of the way from the
highway's begin to the exit, measured back from the exit on both arms; speeds as share of the
limit):

    | index | what                          | range | when there is none         |
    | 0, 1  | own position, own speed       | 0 … 1 |                            |
    | 2, 3  | the same of the vehicle ahead | 0 … 1 | 1 (the exit) and 1 (limit) |
    | 4, 5  | and of the one behind         | 0 … 1 | 0 (the begin) and 0        |

With `state="relative"` 2, 3 are speed difference and gap to the vehicle ahead, 4, 5 those to the
one behind; without one, the gap is 1.

Action and reward: as in Figure Eight. A collision or `epoch_steps` steps end the epoch.

Presets: `zju` (default; limit 20 m/s, 1.5 m/s²) and `flow` (limit 30 m/s, Flow's benchmark).
"""

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32

from fmarl.errors import BadInput, require
from fmarl.worlds import sensing
from fmarl.worlds.driving import VehicleType
from fmarl.worlds.options import changed
from fmarl.worlds.roads import Road, compiled_network, lane_lengths, merge_road
from fmarl.worlds.sumo import SumoSession
from fmarl.worlds.world import Observation, Step, WorldSpec

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

HIGHWAY = ("inflow_highway", ":left_0", "left", ":center_1", "center")
RAMP = ("inflow_merge", ":bottom_0", "bottom", ":center_0", "center")
EDGES = (*HIGHWAY, *RAMP[:-1])

ABSENT = (0.0,) * sensing.STATE_SIZE
"""The row of an agent without a vehicle."""

LOOK_AHEAD = 200.0
"""Metres within which another vehicle is a neighbour."""


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
    """SUMO's checks for learners (`driving.SPEED_MODES`)."""
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
    step_seconds: float = 0.1
    epoch_steps: int = 1500

    def road(self) -> Road:
        """The road of these options."""
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
        step_seconds=0.5,
        target_speed=20.0,
    ),
}


class Replacement(NamedTuple):
    """A vehicle that took over from one that left the road."""

    step: int
    agent: int
    vehicle: str


def make(preset: str = "zju", **options: object) -> "MergeWorld":
    """The world of a preset, with some of its options changed."""
    require(preset in PRESETS, f"preset {preset!r}", f"one of {', '.join(PRESETS)}", "Pick one.")
    return MergeWorld(changed(PRESETS[preset], options))


class MergeWorld:
    """The world itself: a SUMO session, and which vehicle each agent drives."""

    def __init__(self, options: Merge) -> None:
        _check(options)
        self.options = options
        network = compiled_network(options.road())
        self._to_exit = distances_to_exit(lane_lengths(network))
        self._way = self._to_exit[HIGHWAY[0]]
        self._gain = options.max_accel * options.step_seconds
        self._agents = np.arange(options.num_learners)
        self._steps_left = 0
        self._session = SumoSession(network, step_seconds=options.step_seconds)
        self._speed_of = self._session.speed_of
        self._ahead_of = self._session.function("vehicle", "getLeader")
        self._behind_of = self._session.function("vehicle", "getFollower")
        self._edge_speed = self._session.function("edge", "getLastStepMeanSpeed")
        self._edge_count = self._session.function("edge", "getLastStepVehicleNumber")
        self._arrived = self._session.function("simulation", "getArrivedIDList")
        self._departed = self._session.function("simulation", "getDepartedIDList")

    @property
    def spec(self) -> WorldSpec:
        """Shapes and limits."""
        return WorldSpec(
            name="merge",
            num_agents=self.options.num_learners,
            observation_size=sensing.STATE_SIZE,
            num_actions=1,
            epoch_steps=self.options.epoch_steps,
        )

    def reset(self, seed: int) -> Observation:
        """Fill the road, then draw the learners among the vehicles on it."""
        self._random = np.random.default_rng(seed)
        self.replacements: list[Replacement] = []
        self._vehicles: list[str | None] = [None] * self.options.num_learners
        self._vacant: deque[int] = deque()
        self._session.load(merge_traffic(self.options), seed=seed % 2**31)
        for _ in range(self.options.warm_up_steps):
            self._session.advance()
            self._welcome()
        self._draw_learners()
        self._steps_left = self.options.epoch_steps
        self._rows = self._observe()
        return self._rows

    def step(self, action: np.ndarray) -> Step:
        """Every learner on the road accelerates or brakes; SUMO moves everybody."""
        wanted = sensing.checked_actions(action, self.options.num_learners)
        if self._steps_left <= 0:
            raise BadInput("a step after the end of an epoch is not allowed: reset first.")
        present, before = self._present(), self._rows
        crashed = self._drive(wanted)
        gone = self._farewell()
        self._welcome()
        self._steps_left = 0 if crashed else self._steps_left - 1
        self._rows = self._observe()
        cut_off = self._steps_left == 0 and not crashed
        return Step(
            observation=self._rows,
            successor=self._successor(before, present, gone),
            reward=present * np.float32(0.0 if crashed else self._reward()),
            present=present,
            terminated=present & crashed,
            truncated=present & (cut_off | np.isin(self._agents, gone) if gone else cut_off),
            over=self._steps_left == 0,
        )

    def _successor(
        self, before: Observation, present: Bool[np.ndarray, " agent"], gone: list[int]
    ) -> Observation:
        """What each action led to. Who has left is seen no more: its last view is kept instead."""
        if not gone and present.all():
            return self._rows
        rows = np.where(present[:, None], self._rows, np.float32(0))
        rows[gone] = before[gone]
        return rows

    def frame(self) -> Float32[np.ndarray, "thing 3"]:
        """Place and speed of every vehicle, learners first; absent ones are not numbers."""
        vehicle = self._session.api.vehicle
        others = [name for name in vehicle.getIDList() if name not in self._vehicles]
        rows = [
            (*vehicle.getPosition(name), vehicle.getSpeed(name)) if name else (np.nan,) * 3
            for name in (*self._vehicles, *others)
        ]
        return np.array(rows, dtype=np.float32)

    def close(self) -> None:
        """End the simulation."""
        self._session.close()

    def __enter__(self) -> "MergeWorld":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _drive(self, wanted: list[float]) -> bool:
        """One step of the simulation; whether somebody crashed in it."""
        if self.options.controlled:
            command, gain = self._session.command, self._gain
            for name, speed, action in zip(self._vehicles, self._speeds, wanted, strict=True):
                if name is not None:
                    command(name, max(speed + action * gain, 0.0))
        return self._session.advance() > 0

    def _farewell(self) -> list[int]:
        """Agents whose vehicles have left the road in this step."""
        gone = [self._vehicles.index(name) for name in self._arrived() if name in self._vehicles]
        for agent in gone:
            self._vehicles[agent] = None
            self._vacant.append(agent)
        return gone

    def _welcome(self) -> None:
        """Vehicles that have entered in this step: they learn if an agent waits for one."""
        for name in self._departed():
            if self._vacant:
                agent = self._vacant.popleft()
                self._assign(agent, name)
                step = self.options.epoch_steps - self._steps_left
                self.replacements.append(Replacement(step, agent, name))
            else:
                self._session.api.vehicle.setSpeedMode(name, self.options.human_speed_mode)

    def _draw_learners(self) -> None:
        """Vehicles drawn at random, the one nearest the exit first; if too few, agents wait."""
        names = sorted(self._session.api.vehicle.getIDList())
        count = min(len(names), self.options.num_learners)
        drawn = [names[i] for i in self._random.choice(len(names), count, replace=False)]
        self._remaining = [self._way] * self.options.num_learners
        self._speeds = [0.0] * self.options.num_learners
        for agent, name in enumerate(sorted(drawn, key=self._metres_to_exit)):
            self._assign(agent, name)
        self._vacant.extend(range(count, self.options.num_learners))

    def _assign(self, agent: int, name: str) -> None:
        self._vehicles[agent] = name
        options, set_mode = self.options, self._session.api.vehicle.setSpeedMode
        set_mode(
            name, options.learner_speed_mode if options.controlled else options.human_speed_mode
        )
        # What it drives in this step is subtracted when it is observed, so it is added here.
        self._remaining[agent] = self._metres_to_exit(name)
        self._remaining[agent] += self._speed_of(name) * self.options.step_seconds

    def _metres_to_exit(self, name: str) -> float:
        vehicle = self._session.api.vehicle
        return self._to_exit[vehicle.getRoadID(name)] - vehicle.getLanePosition(name)

    def _present(self) -> Bool[np.ndarray, " agent"]:
        return np.array([name is not None for name in self._vehicles])

    def _observe(self) -> Observation:
        rows = [
            ABSENT if name is None else self._see(agent, name)
            for agent, name in enumerate(self._vehicles)
        ]
        return np.array(rows, dtype=np.float32)

    def _see(self, agent: int, name: str) -> tuple[float, ...]:
        """What the driver of one vehicle sees, scaled."""
        options, limit = self.options, self.options.speed_limit
        speed = self._speeds[agent] = self._speed_of(name)
        self._remaining[agent] -= speed * options.step_seconds
        position = 1 - self._remaining[agent] / self._way
        ahead, behind = self._ahead_of(name, LOOK_AHEAD), self._behind_of(name, LOOK_AHEAD)
        return sensing.lane_state(
            position,
            speed / limit,
            self._neighbour(ahead),
            self._neighbour(behind),
            length=options.vehicle_type.length / self._way,
            is_relative=options.state == "relative",
        )

    def _neighbour(self, found: tuple[str, float] | None) -> tuple[float, float] | None:
        """Gap to a neighbour as share of the way, bumper to bumper, and its scaled speed."""
        if not found or not found[0]:
            return None
        gap = (found[1] + self.options.vehicle_type.min_gap) / self._way
        return gap, self._speed_of(found[0]) / self.options.speed_limit

    def _reward(self) -> float:
        if self.options.reward == "nas":
            counts = [self._edge_count(edge) for edge in EDGES]
            total = sum(n * self._edge_speed(e) for n, e in zip(counts, EDGES, strict=True) if n)
            vehicles = sum(counts)
            return total / (vehicles * self.options.speed_limit) if vehicles else 0.0
        names = self._session.api.vehicle.getIDList()
        return sensing.desired_velocity(self._session.speeds(names), self.options.target_speed)


def parallel_env(preset: str = "zju", **options: object) -> "ParallelEnv":
    """The world as a PettingZoo environment, in a process of its own: there may be several."""
    from fmarl.worlds.parallel import parallel_env as view
    from fmarl.worlds.remote import RemoteWorld

    return view(lambda: RemoteWorld("merge", preset=preset, **options))


def distances_to_exit(lanes: dict[str, float]) -> dict[str, float]:
    """Metres from the begin of every edge, on either arm, to the exit."""
    found: dict[str, float] = {}
    for arm in (RAMP, HIGHWAY):
        lengths = [lanes[f"{edge}_0"] for edge in arm]
        found |= {edge: sum(lengths[index:]) for index, edge in enumerate(arm)}
    return found


def merge_traffic(options: Merge) -> str:
    """The route file: vehicles that enter evenly on both arms."""
    highway, ramp = (" ".join(e for e in arm if e[0] != ":") for arm in (HIGHWAY, RAMP))
    flow = '<flow id="{0}" type="car" route="{0}" begin="1" end="86400" vehsPerHour="{1:g}" '
    flow += 'departSpeed="{2:g}" departLane="free"/>'
    return (
        f"<routes>{options.vehicle_type.to_xml('car', options.speed_limit)}"
        f'<route id="highway" edges="{highway}"/><route id="ramp" edges="{ramp}"/>'
        + flow.format("highway", options.highway_per_hour, options.highway_entry_speed)
        + flow.format("ramp", options.ramp_per_hour, options.ramp_entry_speed)
        + "</routes>"
    )


def _check(options: Merge) -> None:
    require(
        1 <= options.num_learners <= 30,
        f"num_learners = {options.num_learners}",
        "1 to 30 of about 50 vehicles",
        "The paper has 5.",
    )
    positive = ("step_seconds", "max_accel", "epoch_steps", "highway_per_hour", "ramp_per_hour")
    for name in positive:
        value = getattr(options, name)
        require(value > 0, f"{name} = {value}", f"{name} > 0", "Give a positive number.")
