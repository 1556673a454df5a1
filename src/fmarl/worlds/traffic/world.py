"""Figure Eight on the exact road: the same world as on SUMO, without SUMO.

Same options, starts, speed factors, observations, rewards and pictures as `FigureEightWorld`; only
who moves the vehicles differs. What the rules do not cover is refused (`_refuse_uncovered`).
"""

from typing import Any

import numpy as np
from jaxtyping import Float32

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require
from fmarl.worlds.sumo import observations
from fmarl.worlds.sumo.figure_eight import FigureEight, check, make_spec
from fmarl.worlds.sumo.loop import Loop, random_starts
from fmarl.worlds.sumo.roads.network import compiled_network, lane_limits, lane_shapes
from fmarl.worlds.traffic.car_following import STEP
from fmarl.worlds.traffic.compiled import require_compiler
from fmarl.worlds.traffic.drivers import make_drivers, set_speed_factors, speed_factors
from fmarl.worlds.traffic.lanes import MAJOR_CROSSING, NAMES, measured_lanes
from fmarl.worlds.traffic.records import rows
from fmarl.worlds.traffic.road import make_road, place
from fmarl.worlds.traffic.scene import Scene, SceneSetting, advance, look
from fmarl.worlds.world import Observation, Step

NO_ACTIONS = np.zeros(0)
MODES = {0, 1, 31}
"""Speed modes whose rules are covered."""


class ExactFigureEight(Closeable):
    """The world itself: a compiled road, and where every vehicle is on the loop."""

    def __init__(self, options: FigureEight) -> None:
        require_compiler()
        check(options)
        network = compiled_network(options.road())
        lanes = measured_lanes(network)
        _refuse_uncovered(options, float(lanes[MAJOR_CROSSING].length))
        self.options, self.spec = options, make_spec(options)
        self._loop, self._shapes = Loop.measure(network), lane_shapes(network)
        self._limit = lane_limits(network)[NAMES[0]]
        self._scene = _make_scene(options, self._loop, lanes)
        self._deviations = _deviations(options)
        self._observation = np.zeros((self.spec.num_agents, observations.STATE_SIZE), np.float32)
        self._all = np.ones(self.spec.num_agents, dtype=bool)
        self._none = ~self._all
        self._compile()

    def reset(self, seed: int) -> Observation:
        """Put all vehicles at their starts, at rest."""
        self._random = np.random.default_rng(seed)
        starts = random_starts(self._loop, self.options, self._random)
        _refuse_crowded(starts, self._loop, self._scene.road.drivers)
        edges, metres = zip(*(self._loop.locate(float(start)) for start in starts), strict=True)
        # SUMO reads starts with six decimals.
        place(self._scene.road, np.array(edges) * 2, np.array([float(f"{m:.6f}") for m in metres]))
        factors = speed_factors(self._deviations, seed % 2**31)
        set_speed_factors(self._scene.road.drivers, self._limit, factors)
        self._scene.places[:], self._scene.commands[:] = starts / self._loop.length, -1.0
        for _ in range(self.options.warm_up_steps):
            crashed, _ = advance(self._scene, NO_ACTIONS, self._draw_noise(), self._observation)
            require(not crashed, "a crash in the warm-up", "none", "Use simulator=sumo.")
        self._steps_left = self.options.epoch_steps
        look(self._scene, self._observation)
        return self._observation.copy()

    def step(self, action: np.ndarray) -> Step:
        """Every learner accelerates or brakes; the rules move everybody."""
        wanted = np.array(observations.clip_actions(action, self.spec.num_agents))
        if self._steps_left <= 0:
            raise BadInput("a step after the end of an epoch is not allowed: reset first.")
        obeyed = wanted if self.options.controlled else NO_ACTIONS
        crashed, reward = advance(self._scene, obeyed, self._draw_noise(), self._observation)
        _refuse_overlook(self._scene)
        self._steps_left = 0 if crashed else self._steps_left - 1
        observation = self._observation.copy()
        return Step(
            observation=observation,
            successor=observation,
            reward=np.full(self.spec.num_agents, reward, np.float32),
            present=self._all,
            terminated=self._all if crashed else self._none,
            truncated=self._all if self._steps_left == 0 and not crashed else self._none,
            over=self._steps_left == 0,
        )

    def frame(self) -> Float32[np.ndarray, "thing 3"]:
        """Place and speed of every vehicle, learners first."""
        vehicles, (learners, humans) = self._scene.road.vehicles, self._scene[-2:]
        return np.array([self._drawn(vehicles[i]) for i in (*learners, *humans)], np.float32)

    def close(self) -> None:
        self._steps_left = 0

    def _compile(self) -> None:
        """While a worker starts, which may take longer than a slot."""
        self._random = np.random.default_rng(0)
        place(self._scene.road, np.zeros(self.options.num_vehicles, int), np.zeros(1))
        advance(self._scene, NO_ACTIONS, self._draw_noise(), self._observation)
        look(self._scene, self._observation)
        self._steps_left = 0

    def _draw_noise(self) -> np.ndarray:
        """Of Flow's drivers in this step: the draws of `FigureEightWorld`."""
        driver = self.options.human_driver
        if driver is None:
            return NO_ACTIONS
        return self._random.normal(0.0, driver.noise, self.options.num_vehicles)

    def _drawn(self, vehicle: Any) -> tuple[float, float, float]:
        """MSLane::geometryPositionAtOffset."""
        shape, lane = self._shapes[NAMES[vehicle.lane]], self._scene.road.lanes[vehicle.lane]
        passed = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(shape, axis=0), axis=1)))
        at = vehicle.position * lane.scale
        x, y = (float(np.interp(at, passed, column)) for column in shape.T)
        return x, y, float(vehicle.speed)


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


def _refuse_uncovered(options: FigureEight, crossing: float) -> None:
    """One line for the first option that only SUMO itself keeps."""
    for holds, what, allowed in _coverage(options, crossing):
        require(holds, f"{what} with simulator = exact", allowed, "Use simulator=sumo.")


def _coverage(options: FigureEight, crossing: float) -> list[tuple[bool, str, str]]:
    """What the rules cover: whether it holds, the option, what is allowed."""
    types = (options.learner_type, options.human_type)
    modes = {options.human_speed_mode}
    modes |= {options.learner_speed_mode} if options.controlled else set()
    models, lengths = {one.car_following for one in types}, [one.length for one in types]
    return [
        (not options.renews_routes, "renews_routes = true", "false"),
        (options.step_seconds == STEP, f"step_seconds = {options.step_seconds}", f"{STEP}"),
        (models == {"IDM"}, f"car_following = {', '.join(sorted(models))}", "IDM"),
        (max(lengths) < crossing, f"length = {max(lengths)}", f"less than {crossing} m"),
        (modes <= MODES, f"speed mode {max(modes - MODES, default=0)}", f"one of {sorted(MODES)}"),
    ]


def _refuse_crowded(starts: np.ndarray, loop: Loop, drivers: Any) -> None:
    """SUMO holds a vehicle back that would start too close behind another one."""
    ways = (np.roll(starts, -1) - starts) % loop.length
    have_room = (ways >= np.roll(drivers.length, -1) + drivers.min_gap).all()
    in_order = ways.sum() < 1.5 * loop.length  # who starts behind the next one has a whole lap
    require(
        bool(have_room and in_order),
        "a start too close to the next one",
        "room for length and min_gap",
        "Use fewer vehicles or less start_jitter.",
    )


def _refuse_overlook(scene: Scene) -> None:
    if scene.road.clock[1]:
        raise BadInput(
            "a vehicle that looks ahead around the whole loop is not covered by simulator = exact. "
            "Use simulator=sumo, or a lower speed_limit."
        )
