"""What an engine is, and the one for one machine: worlds in worker processes, learning in this one.

An engine is where agents act and learn, slot after slot. The other one is `fmarl.cluster`, where
agents are Ray actors. Both give the same bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.algorithm import Acting, Algorithm, Transitions
from fmarl.engine.compiled import Program, keep_compiled_programs, learning_keys, make_program
from fmarl.engine.experiment import Experiment
from fmarl.federation.method import Method
from fmarl.federation.missing_agents import without
from fmarl.federation.row_ops import IN_ORDER
from fmarl.federation.update import TrainState, federated_update, stacked, unstacked
from fmarl.rollout.batch import Batch, Snapshot, columns_of
from fmarl.rollout.policy import Policy, PolicyParameters
from fmarl.rollout.pool import WorldPool
from fmarl.worlds.world import WorldSpec

NOBODY: frozenset[int] = frozenset()


class SlotResult(NamedTuple):
    """What came of a slot of all agents."""

    update_count: int
    """k: slots learned, this one included."""
    metrics: dict[str, float]
    bad_agents: list[int]
    """Whose step was not finite and was left out."""
    absent: frozenset[int]
    """Who took no part in its period."""
    transitions: Transitions | None
    """What all agents saw and did, where it was needed."""
    state: TrainState | None
    """All that was learned by then, where it was needed."""


class Needs(NamedTuple):
    """What a run will ask of a slot, by the number of slots learned when it is over."""

    transitions: Callable[[int], bool]
    state: Callable[[int], bool]


class EngineState(NamedTuple):
    """All that a checkpoint must hold of an engine: what was learned, and where worlds stand."""

    learned: TrainState
    snapshots: list[Snapshot]


class Schedule:
    """A run's method over its slots: the rate may fall, and agents may be absent."""

    def __init__(self, experiment: Experiment, spec: WorldSpec) -> None:
        self.method = experiment.make_method(spec)
        self.sync_period = int(self.method.sync_period)
        self.total_updates = experiment.total_updates(spec)
        self.updates_per_epoch = experiment.updates_per_epoch(spec)
        self._anneals = experiment.anneal
        self._without: tuple[frozenset[int], Method] = (NOBODY, self.method)

    def at(self, update_count: int, absent: frozenset[int] = NOBODY) -> Method:
        """The method in the slot after so many, without those who are absent."""
        if self._without[0] != absent:
            self._without = (absent, without(self.method, absent))
        method = self._without[1]
        if not self._anneals:
            return method
        left = 1 - update_count / self.total_updates
        return replace(method, learning_rate=np.asarray(float(method.learning_rate) * left))

    def period(self, update_count: int) -> int:
        """The period to which the slot after so many belongs."""
        return update_count // self.sync_period

    def period_end(self, update_count: int) -> int:
        """Slots learned when the period of the slot after so many is over, or the run is."""
        end = (self.period(update_count) + 1) * self.sync_period
        return min(end, self.total_updates)

    def ends_period(self, update_count: int) -> bool:
        """Whether a period is over after so many slots."""
        return update_count % self.sync_period == 0


@runtime_checkable
class Engine(Protocol):
    """Where agents act and learn. Made for an experiment, then started, used and closed."""

    spec: WorldSpec
    """Shapes of one world."""

    def start(self, algorithm: Algorithm, schedule: Schedule) -> None:
        """Make ready to learn, all agents with the same parameters."""
        ...

    def advance(self, needs: Needs) -> list[SlotResult]:
        """Act and learn for as many slots as count together: all of them, or none."""
        ...

    def state(self) -> EngineState:
        """What a checkpoint must hold."""
        ...

    def restore(self, state: EngineState) -> None:
        """Continue from there."""
        ...

    def events(self) -> Sequence[dict[str, Any]]:
        """What happened since this was last called: facts with a `code`."""
        ...

    def close(self) -> None:
        """End all that was started; harmless when called twice."""
        ...


MakeEngine = Callable[[Experiment, str], Engine]
"""Makes the engine of an experiment and of a run, named by its id."""


class LocalEngine:
    """The engine on one machine: one slot at a time, which counts as soon as it is learned."""

    def __init__(
        self,
        experiment: Experiment,
        run_id: str = "",
        absent: Callable[[int], frozenset[int]] = lambda period: NOBODY,
    ) -> None:
        self._experiment, self._absent = experiment, absent
        makers = [experiment.maker] * experiment.num_worlds
        self._pool = WorldPool(makers, run_seed=experiment.seed)
        self.spec = self._pool.specs[0]

    def start(self, algorithm: Algorithm, schedule: Schedule) -> None:
        """Compile nothing yet; all agents have the same parameters."""
        keep_compiled_programs()
        self._algorithm, self._schedule = algorithm, schedule
        self._program = make_program(algorithm, schedule.method.num_agents)
        self._key, first = learning_keys(self._experiment.seed)
        self._learned = self._program.init(schedule.method, first)
        self._converted = (schedule.method, jax.tree.map(jnp.asarray, schedule.method))

    def advance(self, needs: Needs) -> list[SlotResult]:
        """Play one slot in every world and learn from it."""
        count = self._pool.slot
        batches = self.play()
        transitions = transitions_of(batches)
        absent = self._absent(self._schedule.period(count))
        metrics, bad_agents = self.learn(count, absent, transitions)
        metrics["train_reward"] = float(np.mean([batch.mean_reward for batch in batches]))
        return [SlotResult(count + 1, metrics, bad_agents, absent, transitions, self._learned)]

    def play(self) -> list[Batch]:
        """Let all agents act for one slot."""
        steps = self._experiment.steps_per_update
        if self._pool.slot < self._algorithm.random_updates:
            return self._pool.play(Policy("random"), steps)
        acting = acting_of_all(self._program, self._learned)
        kind, agents = self._algorithm.explores, self.spec.num_agents
        return self._pool.play(policies_of(self._algorithm, kind, acting, agents), steps)

    def learn(
        self, update_count: int, absent: frozenset[int], transitions: Transitions
    ) -> tuple[dict[str, float], list[int]]:
        """Let all agents learn from a slot: mean metrics, and whose step was not finite."""
        method = self._on_device(self._schedule.at(update_count, absent))
        self._learned, report = federated_update(
            method, self._program.stages, self._learned, transitions, self._key
        )
        means = jax.device_get(self._program.means(report.metrics, report.active))
        bad_agents = np.flatnonzero(~np.asarray(report.finite)).tolist()
        return {name: float(value) for name, value in means.items()}, bad_agents

    def _on_device(self, method: Method) -> Method:
        """The method as JAX wants it, converted once and not in every call."""
        if self._converted[0] is not method:
            self._converted = (method, jax.tree.map(jnp.asarray, method))
        return self._converted[1]

    def state(self) -> EngineState:
        return EngineState(self._learned, self._pool.snapshots)

    def restore(self, state: EngineState) -> None:
        self._learned = state.learned
        self._pool.restore(state.snapshots, int(state.learned.update_count))

    def events(self) -> Sequence[dict[str, Any]]:
        """What has happened to worlds."""
        told = [event._asdict() for event in self._pool.events]
        self._pool.events.clear()
        return told

    def close(self) -> None:
        self._pool.close()


def transitions_of(batches: Sequence[Batch]) -> Transitions:
    """The slots of several worlds as one, their agents side by side; time is the first axis."""
    return Transitions(**{name: jnp.asarray(array) for name, array in columns_of(batches).items()})


def acting_of_all(program: Program, state: TrainState) -> Acting:
    """What agents act with: one after another, as each does it on a cluster; many at once."""
    agents, own = len(state.parameters), (state.parameters, state.memory)
    if agents > IN_ORDER:
        return jax.vmap(program.act)(*own)
    return stacked([program.act(*one) for one in unstacked(own, agents)])


def policies_of(algorithm: Algorithm, kind: str, acting: Acting, agents: int) -> list[Policy]:
    """One policy per world of so many agents, from the rows of all."""
    rows: Any = jax.device_get(acting)
    worlds = [slice(start, start + agents) for start in range(0, len(rows.log_std), agents)]
    return [
        Policy(
            kind,
            PolicyParameters(
                tuple(layer[own] for layer in rows.weights),
                tuple(layer[own] for layer in rows.biases),
                rows.log_std[own],
            ),
            algorithm.activation,
        )
        for own in worlds
    ]
