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

Presets: `zju` (default; limit 20 m/s, 1.5 m/s²) and `flow` (limit 30 m/s, Flow's benchmark);
options are the fields of `merge_options.Merge`.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float32

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require
from fmarl.settings_io import with_changes
from fmarl.worlds.sumo import observations
from fmarl.worlds.sumo.merge_options import (
    EDGES,
    HIGHWAY,
    PRESETS,
    Merge,
    check_options,
    distances_to_exit,
    merge_traffic,
)
from fmarl.worlds.sumo.roads.network import compiled_network, lane_lengths
from fmarl.worlds.sumo.session import SumoSession
from fmarl.worlds.world import Observation, Step, WorldSpec

if TYPE_CHECKING:
    from pettingzoo import ParallelEnv

ABSENT = (0.0,) * observations.STATE_SIZE
"""The row of an agent without a vehicle."""

LOOK_AHEAD = 200.0
"""Metres within which another vehicle is a neighbour."""


class Replacement(NamedTuple):
    """A vehicle that took over from one that left the road."""

    step: int
    agent: int
    vehicle: str


def make(preset: str = "zju", **options: object) -> "MergeWorld":
    """The world of a preset, with some of its options changed."""
    require(preset in PRESETS, f"preset {preset!r}", f"one of {', '.join(PRESETS)}", "Pick one.")
    return MergeWorld(with_changes(PRESETS[preset], options, "options of merge"))


class MergeWorld(Closeable):
    """The world itself: a SUMO session, and which vehicle each agent drives."""

    def __init__(self, options: Merge) -> None:
        check_options(options)
        self.options = options
        network = compiled_network(options.road())
        self._to_exit = distances_to_exit(lane_lengths(network))
        self._road_length = self._to_exit[HIGHWAY[0]]
        self._gain = options.max_accel * options.step_seconds
        self._none = np.zeros(options.num_learners, dtype=bool)
        self.spec = WorldSpec(
            name="merge",
            num_agents=options.num_learners,
            observation_size=observations.STATE_SIZE,
            num_actions=1,
            epoch_steps=options.epoch_steps,
        )
        self._steps_left = 0
        self._session = SumoSession(network, step_seconds=options.step_seconds)
        self._speed_of = self._session.speed_of
        self._observe_one = self._make_observer()
        self._step_seconds = options.step_seconds
        self._edge_speed = self._session.function("edge", "getLastStepMeanSpeed")
        self._edge_count = self._session.function("edge", "getLastStepVehicleNumber")
        self._arrived = self._session.function("simulation", "getArrivedIDList")
        self._departed = self._session.function("simulation", "getDepartedIDList")

    def reset(self, seed: int) -> Observation:
        """Fill the road, then draw the learners among the vehicles on it."""
        self._random = np.random.default_rng(seed)
        self.replacements: list[Replacement] = []
        self._vehicles: list[str | None] = [None] * self.options.num_learners
        self._free_agents: deque[int] = deque()
        self._session.load(merge_traffic(self.options), seed=seed % 2**31)
        for _ in range(self.options.warm_up_steps):
            self._session.advance()
            self._assign_departed()
        self._draw_learners()
        self._steps_left = self.options.epoch_steps
        self._rows = self._observe()
        return self._rows

    def step(self, action: np.ndarray) -> Step:
        """Every learner on the road accelerates or brakes; SUMO moves everybody."""
        wanted = observations.clip_actions(action, self.options.num_learners)
        if self._steps_left <= 0:
            raise BadInput("a step after the end of an epoch is not allowed: reset first.")
        present, before = self._present, self._rows
        crashed, gone = self._drive(wanted)
        self._steps_left = 0 if crashed else self._steps_left - 1
        cut_off = self._steps_left == 0 and not crashed
        return Step(
            observation=self._rows,
            successor=self._successor(before, present, gone),
            reward=present * np.float32(0.0 if crashed else self._reward()),
            present=present,
            terminated=present if crashed else self._none,
            truncated=present if cut_off else self._mask(gone) if not crashed else self._none,
            over=self._steps_left == 0,
        )

    def _successor(
        self, before: Observation, present: Bool[np.ndarray, " agent"], gone: list[int]
    ) -> Observation:
        """What each action led to. Who has left is seen no more: its last view is kept instead."""
        if not gone and None not in self._vehicles and present is self._present:
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
        self._session.close()

    def _drive(self, wanted: list[float]) -> tuple[bool, list[int]]:
        """Hold an action for its steps; whether somebody crashed, and which agents have left."""
        crashed, gone = False, []
        for _ in range(self.options.steps_per_action):
            if self.options.controlled:
                self._command(wanted)
            crashed = self._session.advance() > 0
            gone += self._drop_arrived()
            self._assign_departed()
            self._rows = self._observe()
            if crashed:
                break
        return crashed, gone

    def _command(self, wanted: list[float]) -> None:
        set_speed, gain = self._session.set_speed, self._gain
        for name, speed, action in zip(self._vehicles, self._speeds, wanted, strict=True):
            if name is not None:
                set_speed(name, max(speed + action * gain, 0.0))

    def _mask(self, agents: list[int]) -> Bool[np.ndarray, " agent"]:
        if not agents:
            return self._none
        mask = self._none.copy()
        mask[agents] = True
        return mask

    def _drop_arrived(self) -> list[int]:
        """Agents whose vehicles have left the road in this step."""
        gone = [self._vehicles.index(name) for name in self._arrived() if name in self._vehicles]
        for agent in gone:
            self._vehicles[agent] = None
            self._free_agents.append(agent)
            self._update_present()
        return gone

    def _assign_departed(self) -> None:
        """Vehicles that have entered in this step: they learn if an agent waits for one."""
        for name in self._departed():
            if self._free_agents:
                agent = self._free_agents.popleft()
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
        self._remaining = [self._road_length] * self.options.num_learners
        self._speeds = [0.0] * self.options.num_learners
        for agent, name in enumerate(sorted(drawn, key=self._metres_to_exit)):
            self._assign(agent, name)
        self._free_agents.extend(range(count, self.options.num_learners))
        self._update_present()

    def _assign(self, agent: int, name: str) -> None:
        self._vehicles[agent] = name
        self._update_present()
        options = self.options
        mode = options.learner_speed_mode if options.controlled else options.human_speed_mode
        self._session.api.vehicle.setSpeedMode(name, mode)
        # What it drives in this step is subtracted when it is observed, so it is added here.
        self._remaining[agent] = self._metres_to_exit(name)
        self._remaining[agent] += self._speed_of(name) * self.options.step_seconds

    def _update_present(self) -> None:
        self._present = np.array([name is not None for name in self._vehicles])

    def _metres_to_exit(self, name: str) -> float:
        vehicle = self._session.api.vehicle
        return self._to_exit[vehicle.getRoadID(name)] - vehicle.getLanePosition(name)

    def _observe(self) -> Observation:
        rows = [ABSENT] * len(self._vehicles)
        for agent, name in enumerate(self._vehicles):
            if name is not None:
                self._speeds[agent] = speed = self._speed_of(name)
                self._remaining[agent] = left = self._remaining[agent] - speed * self._step_seconds
                rows[agent] = self._observe_one(name, left, speed)
        return np.array(rows, dtype=np.float32)

    def _make_observer(self) -> Callable[[str, float, float], tuple[float, ...]]:
        """What one driver sees, as a function with its constants at hand: it is the inner loop."""
        options = self.options
        per_length, per_limit = 1 / self._road_length, 1 / options.speed_limit
        speed_of = self._session.speed_of
        ahead_of = self._session.function("vehicle", "getLeader")
        behind_of = self._session.function("vehicle", "getFollower")
        min_gap, length = options.vehicle_type.min_gap, options.vehicle_type.length * per_length
        state = observations.gap_state if options.state == "relative" else observations.lane_state

        def neighbour(found: tuple[str, float] | None) -> tuple[float, float] | None:
            if not found or not found[0]:
                return None
            return (found[1] + min_gap) * per_length, speed_of(found[0]) * per_limit

        def observe(name: str, remaining: float, speed: float) -> tuple[float, ...]:
            ahead = neighbour(ahead_of(name, LOOK_AHEAD))
            behind = neighbour(behind_of(name, LOOK_AHEAD))
            return state(1 - remaining * per_length, speed * per_limit, ahead, behind, length)

        return observe

    def _reward(self) -> float:
        if self.options.reward == "nas":
            counts = [self._edge_count(edge) for edge in EDGES]
            total = sum(n * self._edge_speed(e) for n, e in zip(counts, EDGES, strict=True) if n)
            vehicles = sum(counts)
            return total / (vehicles * self.options.speed_limit) if vehicles else 0.0
        names = self._session.api.vehicle.getIDList()
        return observations.desired_velocity(self._session.speeds(names), self.options.target_speed)


def parallel_env(preset: str = "zju", **options: object) -> "ParallelEnv":
    """The world as a PettingZoo environment, in a process of its own: there may be several."""
    from fmarl.worlds.as_pettingzoo import WorldParallelEnv
    from fmarl.worlds.remote import RemoteWorld

    return WorldParallelEnv(RemoteWorld("merge", preset=preset, **options))
