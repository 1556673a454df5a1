"""Agents in an actor: each learns where it is, and sends its gradients to its neighbours.

Every call carries an attempt id. A call of an attempt that was given up is refused, so that an
earlier call that arrives late can not disturb the current attempt.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.algorithm import Acting, Transitions
from fmarl.cluster.faults.injector import NO_FAULTS, FaultInjector
from fmarl.cluster.inbox import PARAMETERS, AttemptId, StaleAttempt, Upload, digest_of, make_upload
from fmarl.cluster.run_context import Location, RunContext, own_location
from fmarl.cluster.state import AgentFunctions, AgentState, Arrays, agents_of
from fmarl.engine.compiled import keep_compiled_programs, learning_keys, make_program
from fmarl.engine.engine import Schedule
from fmarl.engine.experiment import Experiment
from fmarl.federation.update import neighbours, unstacked
from fmarl.rollout.batch import columns_of, empty_batch
from fmarl.worlds.world import WorldSpec


class AgentSlotResult(NamedTuple):
    """What the driver wants to know of one agent's slot."""

    metrics: dict[str, float]
    active: bool
    finite: bool


class Traffic(NamedTuple):
    """What an agent has sent in a period."""

    uploads: int = 0
    upload_bytes: int = 0
    exchanges: int = 0
    exchange_bytes: int = 0


class FinalState(NamedTuple):
    """What an agent leaves with the driver at the end of a period."""

    state: AgentState
    sent: Traffic


class Agent:
    """Its methods are called in the order of a slot: `learn`, `mix`, …; then `upload_state`.

    `learn` and the last `mix` of a slot also step; they return what the agent then acts with.
    """

    def __init__(self, agent: int, context: RunContext, faults: FaultInjector = NO_FAULTS) -> None:
        experiment = context.load_experiment()
        assert context.spec is not None
        self._agent, self._run_id, self._faults = agent, context.run_id, faults
        self._schedule = Schedule(experiment, context.spec)
        self._key, _ = learning_keys(experiment.seed)
        self._sequence = 0
        keep_compiled_programs()
        method = self._schedule.method
        program = make_program(experiment.make_algorithm(context.spec), method.num_agents)
        first = program.init(method, self._key)
        self._functions = AgentFunctions(program, jax.tree.structure(first.memory))
        self._warm_up(agents_of(first)[0], experiment, context.spec)

    def load_state(self, attempt: AttemptId, absent: frozenset[int], state: AgentState) -> Acting:
        """Return to a committed state, and begin a period."""
        self._state = state
        return self.begin_period(attempt, absent, None)

    def begin_period(
        self, attempt: AttemptId, absent: frozenset[int], average: Arrays | None
    ) -> Acting:
        """Adopt the average of the period before, and begin another."""
        self._faults.begin_period(attempt)
        self._attempt, self._absent, self._sent = attempt, absent, Traffic()
        self._state = self._functions.adopt(self._state, average)
        self._base = digest_of({PARAMETERS: self._state.row})
        return self._functions.acting(self._state)

    def learn(
        self, attempt: AttemptId, update_count: int, steps: bool, shows: bool, transitions: Arrays
    ) -> tuple[AgentSlotResult, Any, AgentState | None]:
        """Learn from a slot; with `steps`, step too; with `shows`, return the state after it."""
        self._check(attempt)
        self._faults.at(attempt, slot=update_count % self._schedule.sync_period)
        lesson = self._functions.program.stages.learn(
            self._schedule.at(update_count, self._absent),
            np.int32(self._agent),
            self._state.row,
            self._functions.memory(self._state),
            Transitions(**{name: jnp.asarray(column) for name, column in transitions.items()}),
            self._key,
            np.int32(update_count),
        )
        metrics, active, finite = jax.device_get((lesson.metrics, lesson.active, lesson.finite))
        self._state = AgentState(self._state.row, jax.tree.leaves(lesson.memory))
        numbers = {name: float(value) for name, value in metrics.items()}
        result = AgentSlotResult(numbers, bool(active), bool(finite))
        return result, *self._step(update_count, np.asarray(lesson.step), steps, shows)

    def mix(
        self,
        attempt: AttemptId,
        update_count: int,
        round_: int,
        steps: bool,
        shows: bool,
        *rows: np.ndarray,
    ) -> tuple[Any, AgentState | None]:
        """Mix the own gradient with the neighbours', in the order of agents, and step if asked."""
        self._check(attempt)
        slot = update_count % self._schedule.sync_period
        self._faults.at(attempt, slot=slot, exchange=round_)
        weights = self._schedule.at(update_count, self._absent).mixing[round_, self._agent]
        senders = neighbours(weights, self._agent)
        mixed = self._functions.program.stages.mix(weights[senders], np.stack(rows))
        others, sent = len(rows) - 1, self._sent
        self._sent = sent._replace(
            exchanges=sent.exchanges + others,
            exchange_bytes=sent.exchange_bytes + others * rows[0].nbytes,
        )
        return self._step(update_count, np.asarray(mixed), steps, shows)

    def upload_state(
        self, attempt: AttemptId, update_count: int, uploads: bool, outcome: Any
    ) -> tuple[list[Upload], FinalState]:
        """Send what the virtual agent averages, and leave the own state with the driver.

        With delays it is the step that is sent, which is then the `outcome` of the last slot.
        """
        self._check(attempt)
        own = [self._upload(attempt, update_count, outcome)] if uploads else []
        sent = self._faults.on_upload(attempt, own)
        return sent, FinalState(jax.device_get(self._state), self._sent)

    def _upload(self, attempt: AttemptId, update_count: int, outcome: Any) -> Upload:
        delayed = self._schedule.method.is_delayed
        arrays = {PARAMETERS: outcome} if delayed else self._functions.upload_arrays(self._state)
        self._sequence += 1
        size = sum(array.nbytes for array in arrays.values())
        self._sent = self._sent._replace(uploads=1, upload_bytes=size)
        turns = self._schedule.at(update_count - 1, self._absent).local_updates
        return make_upload(
            run_id=self._run_id,
            period=attempt.period,
            attempt=attempt.attempt,
            agent=self._agent,
            base=self._base,
            local_updates=int(turns[attempt.period % len(turns), self._agent]),
            sequence=self._sequence,
            arrays=arrays,
        )

    def _step(
        self, update_count: int, step: np.ndarray, steps: bool, shows: bool
    ) -> tuple[Any, AgentState | None]:
        """The step to be passed on, or what to act with after it was made."""
        if not steps:
            return step, None
        method = self._schedule.at(update_count, self._absent)
        row = np.asarray(self._functions.program.stages.move(method, self._state.row, step))
        self._state = self._state._replace(row=row)
        state = jax.device_get(self._state) if shows else None
        return self._functions.acting(self._state), state

    def _check(self, attempt: AttemptId) -> None:
        if attempt != self._attempt:
            raise StaleAttempt(f"agent {self._agent} is at {self._attempt}, not at {attempt}")

    def _warm_up(self, state: AgentState, experiment: Experiment, spec: WorldSpec) -> None:
        """Compile before anybody waits: learn from a slot in which nothing happens."""
        before = AttemptId(-1, 0)
        self.load_state(before, frozenset(), state)
        columns = columns_of([empty_batch(spec, experiment.steps_per_update)])
        self.learn(before, 0, True, False, unstacked(columns, spec.num_agents, axis=1)[0])


class AgentActor:
    """The agents of one process: one, unless there are so many that they have to share."""

    def __init__(self, context: RunContext, faults: Mapping[int, FaultInjector]) -> None:
        self._agents = {agent: Agent(agent, context, own) for agent, own in faults.items()}

    def location(self) -> Location:
        return own_location()

    def call(self, call: tuple[int, str, tuple[Any, ...]], *results: Any) -> Any:
        """Call a method of an agent with these arguments, and then with results of other calls."""
        agent, method, arguments = call
        return getattr(self._agents[agent], method)(*arguments, *results)
