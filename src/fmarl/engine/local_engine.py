"""The engine on one machine: worlds in worker processes, all agents learning in this one."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.algorithm import Acting, Algorithm, Transitions
from fmarl.engine.compiled import Slot, keep_compiled_programs, make_program, transitions_of
from fmarl.engine.course import NOBODY, Course
from fmarl.engine.engine import EngineState, SlotResult, Wanted
from fmarl.engine.experiment import Experiment
from fmarl.federation.method import Method
from fmarl.rollout.batch import Batch
from fmarl.rollout.policy import Policy, PolicyParameters
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.seeds import derived_seed


def nobody(period: int) -> frozenset[int]:
    """Nobody is ever away."""
    return NOBODY


class LocalEngine:
    """One slot at a time; it counts as soon as it is learned."""

    def __init__(
        self, experiment: Experiment, away: Callable[[int], frozenset[int]] = nobody
    ) -> None:
        self._experiment, self._away = experiment, away
        makers = [experiment.maker] * experiment.num_worlds
        self._pool = WorldPool(makers, run_seed=experiment.seed)
        self.spec = self._pool.specs[0]
        self._told = 0

    def start(self, algorithm: Algorithm, course: Course) -> None:
        """Compile nothing yet; all agents have the same parameters."""
        keep_compiled_programs()
        self._algorithm, self._course = algorithm, course
        self._program = make_program(algorithm, course.method.num_agents)
        self._key, first = learning_keys(self._experiment.seed)
        self._state = self._program.init(course.method, first)
        self._converted = (course.method, jax.tree.map(jnp.asarray, course.method))

    def advance(self, wanted: Wanted) -> list[SlotResult]:
        """Play one slot in every world and learn from it."""
        count = self._pool.slot
        batches = self.play()
        transitions = transitions_of(batches)
        away = self._away(self._course.period(count))
        slot = self.learn(count, away, transitions)
        bad = np.flatnonzero(slot.bad_agents).tolist()
        return [
            SlotResult(count + 1, _measured(slot, batches), bad, away, transitions, self._state)
        ]

    def play(self) -> list[Batch]:
        """Let all agents act for one slot."""
        steps = self._experiment.steps_per_update
        if self._pool.slot < self._algorithm.random_updates:
            return self._pool.play(Policy("random"), steps)
        acting = self._program.acting(self._state)
        kind, agents = self._algorithm.explores, self.spec.num_agents
        return self._pool.play(policies_of(self._algorithm, kind, acting, agents), steps)

    def learn(self, update_count: int, away: frozenset[int], transitions: Transitions) -> Slot:
        """Let all agents learn from a slot."""
        method = self._at_hand(self._course.at(update_count, away))
        self._state, slot = self._program.update(method, self._state, transitions, self._key)
        return slot

    def _at_hand(self, method: Method) -> Method:
        """The method as JAX wants it, converted once and not in every call."""
        if self._converted[0] is not method:
            self._converted = (method, jax.tree.map(jnp.asarray, method))
        return self._converted[1]

    def at_rest(self) -> EngineState:
        """What was learned, and where the worlds stand."""
        return EngineState(self._state, self._pool.snapshots)

    def restore(self, rest: EngineState) -> None:
        """Stand there again."""
        self._state = rest.state
        self._pool.restore(rest.snapshots, int(rest.state.update_count))

    def events(self) -> Sequence[dict[str, Any]]:
        """What has happened to worlds."""
        new = self._pool.events[self._told :]
        self._told += len(new)
        return [event._asdict() for event in new]

    def close(self) -> None:
        """End the workers."""
        self._pool.close()


def learning_keys(seed: int) -> tuple[jax.Array, jax.Array]:
    """Chance in learning, and in the first parameters."""
    return (
        jax.random.key(derived_seed(seed, "learning")),
        jax.random.key(derived_seed(seed, "parameters")),
    )


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


def _measured(slot: Slot, batches: Sequence[Batch]) -> dict[str, float]:
    numbers = {name: float(value) for name, value in jax.device_get(slot.metrics).items()}
    return {**numbers, "train_reward": float(np.mean([batch.mean_reward for batch in batches]))}
