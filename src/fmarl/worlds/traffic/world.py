"""Figure Eight on the exact road: the same world as on SUMO, without SUMO.

Same options, starts, speed factors, observations, rewards and pictures as `FigureEightWorld`; only
who moves the vehicles differs. What the rules do not cover is refused (`refuse_uncovered`).
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require
from fmarl.worlds.sumo import observations
from fmarl.worlds.sumo.figure_eight import FigureEight, check, make_spec
from fmarl.worlds.sumo.loop import Loop, random_starts
from fmarl.worlds.sumo.roads.network import compiled_network, lane_limits, lane_shapes
from fmarl.worlds.traffic.car_following import STEP
from fmarl.worlds.traffic.compiled import require_compiler
from fmarl.worlds.traffic.coverage import (
    refuse_crowded,
    refuse_occupied_crossing,
    refuse_overlook,
    refuse_uncovered,
)
from fmarl.worlds.traffic.drivers import make_drivers, set_speed_factors, speed_factors
from fmarl.worlds.traffic.lanes import MAJOR_CROSSING, NAMES, measured_lanes
from fmarl.worlds.traffic.records import rows
from fmarl.worlds.traffic.road import make_road, place
from fmarl.worlds.traffic.scene import Scene, SceneSetting
from fmarl.worlds.traffic.slot import CRASHED, NOT_A_NUMBER, play
from fmarl.worlds.world import Networks, Observation, Step

NO_NETWORKS = Networks(
    weights=(np.zeros((0, 0, 0), np.float32),) * 3,
    biases=(np.zeros((0, 0), np.float32),) * 3,
    activation="tanh",
)
"""As many layers as agents have by default, so that playing with those compiles nothing more."""


class StretchRoom(NamedTuple):
    """Room for what some steps give."""

    noise: Float32[np.ndarray, "time agent action"]
    observation: Float32[np.ndarray, "time agent observation"]
    action: Float32[np.ndarray, "time agent action"]
    successor: Float32[np.ndarray, "time agent observation"]
    reward: Float32[np.ndarray, "time agent"]


class ExactFigureEight(Closeable):
    """The world itself: a compiled road, and where every vehicle is on the loop."""

    def __init__(self, options: FigureEight) -> None:
        require_compiler()
        check(options)
        network = compiled_network(options.road())
        lanes = measured_lanes(network)
        refuse_uncovered(options, float(lanes[MAJOR_CROSSING].length))
        self.options, self.spec = options, make_spec(options)
        self._loop, self._shapes = Loop.measure(network), lane_shapes(network)
        self._limit = lane_limits(network)[NAMES[0]]
        self._scene = _make_scene(options, self._loop, lanes)
        self._deviations = _deviations(options)
        self._given = _room_for(1, self.spec.num_agents)
        self._all = np.ones(self.spec.num_agents, dtype=bool)
        self._none = ~self._all
        self._steps_left, self._random = 0, np.random.default_rng(0)
        self._warm_up(0)  # compiles, for the first slot of a worker must not take that long

    def reset(self, seed: int) -> Observation:
        """Put all vehicles at their starts, at rest."""
        self._random = np.random.default_rng(seed)
        starts = random_starts(self._loop, self.options, self._random)
        refuse_crowded(starts, self._loop, self._scene.road.drivers)
        edges, metres = zip(*(self._loop.locate(float(start)) for start in starts), strict=True)
        # SUMO reads starts with six decimals.
        place(self._scene.road, np.array(edges) * 2, np.array([float(f"{m:.6f}") for m in metres]))
        road, jitter = self._scene.road, self.options.start_jitter
        refuse_occupied_crossing(road.vehicles, road.drivers, jitter)
        factors = speed_factors(self._deviations, seed % 2**31)
        set_speed_factors(self._scene.road.drivers, self._limit, factors)
        self._scene.places[:], self._scene.commands[:] = starts / self._loop.length, -1.0
        self._warm_up(self.options.warm_up_steps)
        self._steps_left = self.options.epoch_steps
        return self._observe()

    def step(self, action: np.ndarray) -> Step:
        """Every learner accelerates or brakes; the rules move everybody."""
        wanted = observations.clip_actions(action, self.spec.num_agents)
        self._given.action[0, :, 0] = wanted
        return self._play(NO_NETWORKS, False, *self._given)[1]

    def play_steps(
        self,
        networks: Networks,
        noise: np.ndarray,
        observation: np.ndarray,
        action: np.ndarray,
        successor: np.ndarray,
        reward: np.ndarray,
    ) -> tuple[int, Step]:
        """Many steps in one compiled call (`PlaysNetworks`)."""
        return self._play(networks, True, noise, observation, action, successor, reward)

    def _play(
        self,
        networks: Networks,
        acts: bool,
        noise: np.ndarray,
        observation: np.ndarray,
        action: np.ndarray,
        successor: np.ndarray,
        reward: np.ndarray,
    ) -> tuple[int, Step]:
        if self._steps_left <= 0:
            raise BadInput("a step after the end of an epoch is not allowed: reset first.")
        most, (weights, biases, activation) = min(len(noise), self._steps_left), networks
        played, ended = play(
            self._scene, self.options.controlled, weights, biases, activation == "tanh", acts,
            noise[:most], self._draw_noise(most), observation, action, successor, reward,
        )  # fmt: skip
        if ended == NOT_A_NUMBER:
            observations.clip_actions(action[played], self.spec.num_agents)  # says which one
        refuse_overlook(self._scene.road)
        self._steps_left = 0 if ended == CRASHED else self._steps_left - played
        seen, earned = successor[played - 1].copy(), reward[played - 1].copy()
        return played, self._step_of(seen, earned, ended == CRASHED)

    def _step_of(self, observation: Observation, reward: np.ndarray, crashed: bool) -> Step:
        over = self._steps_left == 0
        return Step(
            observation=observation,
            successor=observation,
            reward=reward,
            present=self._all,
            terminated=self._all if crashed else self._none,
            truncated=self._all if over and not crashed else self._none,
            over=over,
        )

    def _observe(self) -> Observation:
        """What agents see before the first step."""
        scene, per_limit = self._scene, 1 / self.options.speed_limit
        speeds = scene.road.vehicles.speed * per_limit
        neighbours = observations.loop_neighbours(len(speeds), scene.learners.tolist())
        if self.options.state == "relative":
            length = self.options.learner_type.length / self._loop.length
            return observations.relative_state(scene.places, speeds, neighbours, length)
        columns = observations.absolute_columns(neighbours, len(speeds))
        return observations.absolute_state(scene.places, speeds, columns)

    def _warm_up(self, steps: int) -> None:
        """Let the road drive alone; learners are not commanded."""
        room, (weights, biases, _) = _room_for(steps, self.spec.num_agents), NO_NETWORKS
        _, ended = play(
            self._scene, False, weights, biases, True, False,
            room.noise, self._draw_noise(steps), *room[1:],
        )  # fmt: skip
        require(ended != CRASHED, "a crash in the warm-up", "none", "Use simulator=sumo.")

    def frame(self) -> Float32[np.ndarray, "thing 3"]:
        """Place and speed of every vehicle, learners first."""
        vehicles, (learners, humans) = self._scene.road.vehicles, self._scene[-2:]
        return np.array([self._drawn(vehicles[i]) for i in (*learners, *humans)], np.float32)

    @property
    def speeds(self) -> Float[np.ndarray, " vehicle"]:
        """Of all vehicles, in metres per second."""
        return self._scene.road.vehicles.speed.copy()

    @property
    def lanes(self) -> Int[np.ndarray, " vehicle"]:
        """On which lane of the loop every vehicle's front is (`lanes.py`)."""
        return self._scene.road.vehicles.lane.copy()

    @property
    def places(self) -> Float[np.ndarray, " vehicle"]:
        """Where on the loop all vehicles are, as share of its length."""
        return self._scene.places.copy()

    @property
    def loop_length(self) -> float:
        return self._loop.length

    def close(self) -> None:
        self._steps_left = 0

    def _draw_noise(self, steps: int = 1) -> Float[np.ndarray, "time vehicle"]:
        """Of Flow's drivers in the next steps: the draws of `FigureEightWorld`."""
        driver = self.options.human_driver
        if driver is None:
            return np.zeros((steps, 0))
        return self._random.normal(0.0, driver.noise, (steps, self.options.num_vehicles))

    def _drawn(self, vehicle: Any) -> tuple[float, float, float]:
        """MSLane::geometryPositionAtOffset."""
        shape, lane = self._shapes[NAMES[vehicle.lane]], self._scene.road.lanes[vehicle.lane]
        passed = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(shape, axis=0), axis=1)))
        at = vehicle.position * lane.scale
        x, y = (float(np.interp(at, passed, column)) for column in shape.T)
        return x, y, float(vehicle.speed)


def _room_for(steps: int, agents: int) -> StretchRoom:
    seen = (steps, agents, observations.STATE_SIZE)
    return StretchRoom(
        noise=np.zeros((steps, agents, 1), np.float32),
        observation=np.zeros(seen, np.float32),
        action=np.zeros((steps, agents, 1), np.float32),
        successor=np.zeros(seen, np.float32),
        reward=np.zeros((steps, agents), np.float32),
    )


def _make_scene(options: FigureEight, loop: Loop, lanes: Any) -> Scene:
    learners, count = options.learning_vehicles(), options.num_vehicles
    humans = [number for number in range(count) if number not in learners]
    return Scene(
        road=make_road(lanes, make_drivers(options)),
        setting=_setting(options, loop.length),
        places=np.zeros(count),
        commands=np.full(count, -1.0),
        learners=np.array(learners, np.int64),
        humans=np.array(humans, np.int64),
    )


def _setting(options: FigureEight, loop_length: float) -> Any:
    setting = rows(SceneSetting, 1)
    setting.gain = options.max_accel * STEP
    setting.per_limit, setting.limit = 1 / options.speed_limit, options.speed_limit
    setting.reach = options.speed_limit * STEP / loop_length
    setting.loop_length = loop_length
    setting.vehicle_length = options.learner_type.length / loop_length
    setting.human_length = options.human_type.length
    setting.relative = options.state == "relative"
    setting.target_speed = options.target_speed if options.reward == "desired_velocity" else 0.0
    if (driver := options.human_driver) is not None:
        setting.has_flow_drivers = True
        setting.wanted_speed, setting.accel, setting.decel = (
            driver.wanted_speed, driver.accel, driver.decel
        )  # fmt: skip
        setting.headway, setting.standing_gap = driver.headway_seconds, driver.standing_gap
        setting.exponent = driver.exponent
    return setting


def _deviations(options: FigureEight) -> np.ndarray:
    learners = options.learning_vehicles()
    types = (
        options.learner_type if number in learners else options.human_type
        for number in range(options.num_vehicles)
    )
    return np.array([float(f"{kind.speed_deviation:g}") for kind in types])
