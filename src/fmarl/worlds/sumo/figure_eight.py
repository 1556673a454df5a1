"""Figure Eight: 14 vehicles on a closed loop that crosses itself, half of them learning.

            ╭────────╮
            │ upper  │
            │  ring  │
    left ◀──┼────────╯ right
    ╭───────┼
    │ lower │
    │  ring │
    ╰───────╯ bottom

One lane, one way: bottom → top → upper ring → right → left → lower ring → bottom, 421.94 m in all.
At the crossing bottom → top has priority over right → left. With uniform spacing vehicles meet at
the crossing in pairs, so somebody has to brake.

Observation, six numbers per agent, `state="absolute"` (positions as share of the loop, speeds as
share of the limit):

    | index | what                          | range |
    | 0, 1  | own position, own speed       | 0 … 1 |
    | 2, 3  | the same of the vehicle ahead | 0 … 1 |
    | 4, 5  | and of the one behind         | 0 … 1 |

With `state="relative"` 2, 3 are speed difference and gap to the vehicle ahead, 4, 5 those to the
one behind.

Action: one number from −1 to 1, the share of `max_accel` to accelerate (brake) with in this step.
SUMO keeps the vehicle at its safe speed whatever is asked (speed mode 1), and with SUMO's IDM the
safe speed *is* the IDM speed: full throttle drives as IDM does, only braking is the agent's own.

Reward: the same for all agents. `nas`: mean speed of all vehicles over the limit;
`desired_velocity`: Flow's. Either is 0 in the step of a collision, which ends the epoch. Otherwise
`epoch_steps` steps cut it off.

Presets: `zju` (default; limit 20 m/s, 1.5 m/s², as in later code of the paper's lab) and `flow`
(limit 30 m/s, Flow's benchmark values). Options are the fields of `FigureEight`.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float32

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require, require_positive
from fmarl.settings_io import with_changes
from fmarl.worlds.sumo import observations
from fmarl.worlds.sumo.loop import ORDER, Loop, lap_from, loop_traffic, random_starts
from fmarl.worlds.sumo.roads.description import Road, figure_eight_road
from fmarl.worlds.sumo.roads.network import compiled_network
from fmarl.worlds.sumo.session import SumoSession
from fmarl.worlds.sumo.vehicles import FlowDriver, VehicleType
from fmarl.worlds.world import Observation, Step, WorldSpec

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

    from fmarl.worlds.traffic.world import ExactFigureEight


@dataclass(frozen=True, kw_only=True)
class FigureEight:
    """Options of the world; the defaults are the preset `zju`."""

    radius: float = 30.0
    """Of both rings, in metres."""
    speed_limit: float = 20.0
    """m/s, on the whole road; also what NAS is measured against."""
    num_vehicles: int = 14
    learners: tuple[int, ...] | None = None
    """Which vehicles learn, counted from the back; None is every second one, from the second on."""
    learner_type: VehicleType = field(default_factory=VehicleType)
    human_type: VehicleType = field(default_factory=VehicleType)
    human_driver: FlowDriver | None = None
    """None leaves the others to SUMO's IDM, as the paper says; else Flow's noisy IDM."""
    max_accel: float = 1.5
    """m/s² that an action of 1 asks for, and one of −1 brakes with."""
    learner_speed_mode: int = 1
    """SUMO's checks for learners (`vehicles.py`)."""
    human_speed_mode: int = 31
    """SUMO's checks for the others."""
    controlled: bool = True
    """Whether actions are obeyed; False leaves learners to SUMO, with the others' checks: the
    all-SUMO baseline."""
    reward: Literal["nas", "desired_velocity"] = "nas"
    target_speed: float = 20.0
    """m/s, for `desired_velocity`."""
    state: Literal["absolute", "relative"] = "absolute"
    start_jitter: float = 0.5
    """Metres by which each start is shifted at random, either way."""
    renews_routes: bool = False
    """Whether routes end after a lap and are renewed on its last edge, as in Flow: a vehicle there
    announces itself late at the crossing, which makes drivers who yield 1 to 4 % faster."""
    warm_up_steps: int = 0
    """Steps that SUMO drives alone before the first observation."""
    step_seconds: float = 0.1
    epoch_steps: int = 1500
    simulator: Literal["sumo", "exact"] = "sumo"
    """Who moves the vehicles: SUMO itself, or its rules compiled (`fmarl.worlds.traffic`), which
    agree with it (docs/agreement.md) and are ten times as fast."""

    def road(self) -> Road:
        return figure_eight_road(radius=self.radius, speed_limit=self.speed_limit)

    def learning_vehicles(self) -> tuple[int, ...]:
        if self.learners is None:
            return tuple(range(1, self.num_vehicles, 2))
        return self.learners


PRESETS: dict[str, FigureEight] = {
    "zju": FigureEight(),
    "flow": FigureEight(
        speed_limit=30.0,
        learner_type=VehicleType(accel=2.6, decel=4.5),
        human_type=VehicleType(accel=2.6, decel=1.5),
        human_driver=FlowDriver(wanted_speed=30.0, accel=1.0),
        max_accel=3.0,
        human_speed_mode=1,
        reward="desired_velocity",
        start_jitter=0.0,
    ),
}


def make(preset: str = "zju", **options: object) -> "FigureEightWorld | ExactFigureEight":
    """The world of a preset, with some of its options changed."""
    require(preset in PRESETS, f"preset {preset!r}", f"one of {', '.join(PRESETS)}", "Pick one.")
    chosen = with_changes(PRESETS[preset], options, "options of figure-eight")
    if chosen.simulator == "sumo":
        return FigureEightWorld(chosen)
    from fmarl.worlds.traffic.world import ExactFigureEight

    return ExactFigureEight(chosen)


def parallel_env(preset: str = "zju", **options: object) -> "ParallelEnv":
    """The world as a PettingZoo environment, in a process of its own: there may be several."""
    from fmarl.worlds.as_pettingzoo import WorldParallelEnv
    from fmarl.worlds.remote import RemoteWorld

    return WorldParallelEnv(RemoteWorld("figure-eight", preset=preset, **options))


class FigureEightWorld(Closeable):
    """The world itself: a SUMO session, and where every vehicle is on the loop."""

    def __init__(self, options: FigureEight) -> None:
        check(options)
        self.options = options
        network = compiled_network(options.road())
        self._loop = Loop.measure(network)
        self._learners = options.learning_vehicles()
        self._names = [f"vehicle_{number}" for number in range(options.num_vehicles)]
        self._controlled = (
            [(self._names[i], i) for i in self._learners] if options.controlled else []
        )
        self._neighbours = observations.loop_neighbours(options.num_vehicles, self._learners)
        self._columns = observations.absolute_columns(self._neighbours, options.num_vehicles)
        self._gain = options.max_accel * options.step_seconds
        self._per_limit = 1 / options.speed_limit
        self._reach = options.speed_limit * options.step_seconds / self._loop.length
        self._all = np.ones(len(self._learners), dtype=bool)
        self._none = ~self._all
        self.spec = make_spec(options)
        self._steps_left = 0
        self._session = SumoSession(network, step_seconds=options.step_seconds)

    def reset(self, seed: int) -> Observation:
        """Put all vehicles at their starts, at rest."""
        options, random = self.options, np.random.default_rng(seed)
        starts, self._noise = random_starts(self._loop, options, random), random
        self._session.load(loop_traffic(self._loop, starts, options), seed=seed % 2**31)
        self._session.advance()  # the step in which they appear
        self._set_speed_modes()
        self._places = starts / self._loop.length
        self._last_edges = (self._loop.edges_of(starts) - 1) % len(ORDER)
        self._speeds = [0.0] * options.num_vehicles
        self._scaled_speeds = np.zeros(options.num_vehicles)
        for _ in range(options.warm_up_steps):
            self._drive([])
        self._steps_left = options.epoch_steps
        return self._observe()

    def step(self, action: np.ndarray) -> Step:
        """Every learner accelerates or brakes; SUMO moves everybody."""
        wanted = observations.clip_actions(action, len(self._learners))
        if self._steps_left <= 0:
            raise BadInput("a step after the end of an epoch is not allowed: reset first.")
        crashed = self._drive(wanted)
        self._steps_left = 0 if crashed else self._steps_left - 1
        observation = self._observe()
        return Step(
            observation=observation,
            successor=observation,
            reward=np.full(len(self._learners), 0.0 if crashed else self._reward(), np.float32),
            present=self._all,
            terminated=self._all if crashed else self._none,
            truncated=self._all if self._steps_left == 0 and not crashed else self._none,
            over=self._steps_left == 0,
        )

    def frame(self) -> Float32[np.ndarray, "thing 3"]:
        """Place and speed of every vehicle, learners first."""
        humans = [i for i in range(len(self._names)) if i not in self._learners]
        position = self._session.api.vehicle.getPosition
        rows = [(*position(self._names[i]), self._speeds[i]) for i in (*self._learners, *humans)]
        return np.array(rows, dtype=np.float32)

    def close(self) -> None:
        self._session.close()

    def _drive(self, wanted: list[float]) -> bool:
        """One step of the simulation; whether somebody crashed in it."""
        if self.options.renews_routes:
            self._renew_routes()
        set_speed, speeds, gain = self._session.set_speed, self._speeds, self._gain
        for (vehicle, index), action in zip(self._controlled, wanted, strict=False):
            set_speed(vehicle, max(speeds[index] + action * gain, 0.0))
        if self.options.human_driver is not None:
            self._drive_humans(self.options.human_driver)
        crashed = self._session.advance() > 0
        self._speeds = self._session.speeds(self._names)
        self._scaled_speeds = np.array(self._speeds) * self._per_limit
        # SUMO's Euler step moves a vehicle by exactly its new speed: no need to ask where it is.
        places = self._places + self._scaled_speeds * self._reach
        self._places = places - np.floor(places)
        return crashed

    def _observe(self) -> Observation:
        if self.options.state == "absolute":
            return observations.absolute_state(self._places, self._scaled_speeds, self._columns)
        length, speeds = self.options.learner_type.length / self._loop.length, self._scaled_speeds
        return observations.relative_state(self._places, speeds, self._neighbours, length)

    def _reward(self) -> float:
        if self.options.reward == "nas":
            return observations.normalised_average_speed(self._speeds, self.options.speed_limit)
        return observations.desired_velocity(self._speeds, self.options.target_speed)

    def _set_speed_modes(self) -> None:
        set_mode = self._session.api.vehicle.setSpeedMode
        for name in self._names:
            set_mode(name, self.options.human_speed_mode)
        for name, _ in self._controlled:
            set_mode(name, self.options.learner_speed_mode)

    def _renew_routes(self) -> None:
        """Give a new lap to everybody who has begun the last edge of the old one."""
        places = self._places * self._loop.length
        edges = self._loop.edges_of(places)
        begun = places - self._loop.edge_starts[edges] > 1.0  # metres: surely out of the junction
        for number in np.flatnonzero(begun & (edges == self._last_edges)):
            edge = int(edges[number])
            self._session.api.vehicle.setRoute(self._names[number], lap_from(ORDER[edge]))
            self._last_edges[number] = (edge - 1) % len(ORDER)

    def _drive_humans(self, driver: FlowDriver) -> None:
        """Flow's way: its own IDM outside junctions, SUMO's inside them."""
        speeds, step = np.array(self._speeds), self.options.step_seconds
        places = self._places * self._loop.length
        gap = (np.roll(places, -1) - places) % self._loop.length - self.options.human_type.length
        noise = self._noise.normal(0.0, driver.noise, len(speeds)) * np.sqrt(step)
        wanted = speeds + (driver.acceleration(speeds, np.roll(speeds, -1), gap) + noise) * step
        inside = self._loop.is_junction(places)
        for number, name in enumerate(self._names):
            if number not in self._learners:
                self._session.set_speed(name, -1.0 if inside[number] else max(wanted[number], 0.0))


def make_spec(options: FigureEight) -> WorldSpec:
    """The shapes of the world that these options make."""
    return WorldSpec(
        name="figure-eight",
        num_agents=len(options.learning_vehicles()),
        observation_size=observations.STATE_SIZE,
        num_actions=1,
        epoch_steps=options.epoch_steps,
    )


def check(options: FigureEight) -> None:
    """Refuse options that no simulator can keep."""
    learners, vehicles = options.learning_vehicles(), options.num_vehicles
    require(
        2 <= vehicles <= 40,
        f"num_vehicles = {vehicles}",
        "2 to 40 vehicles on the loop",
        "The paper has 14.",
    )
    given = f"learners = {learners}"
    require(
        len(learners) >= 1 and all(0 <= i < vehicles for i in learners),
        given,
        f"at least one number from 0 to {vehicles - 1}",
        "Leave it out for every second vehicle.",
    )
    require(len(set(learners)) == len(learners), given, "each once", "Remove doubles.")
    require_positive(
        step_seconds=options.step_seconds,
        max_accel=options.max_accel,
        speed_limit=options.speed_limit,
        epoch_steps=options.epoch_steps,
    )
