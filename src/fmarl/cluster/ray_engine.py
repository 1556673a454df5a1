"""The engine on a cluster: it has a period played at a time, and commits all of it or nothing.

If an agent is lost in a period, everybody goes back to its start and it is repeated without the
lost one: the result equals, bit for bit, a run in one process in whose schedule τ_i is 0 there. A
world or the virtual agent that is lost is replaced, and nothing changes at all.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.algorithm import Algorithm, Transitions
from fmarl.cluster.actor_pool import ActorPool
from fmarl.cluster.agent_actor import Traffic
from fmarl.cluster.connect import ClusterHead, joined
from fmarl.cluster.inbox import AttemptId
from fmarl.cluster.membership import AttemptFailed, Membership, Reference, Role
from fmarl.cluster.period import Attempt, AttemptContext, PeriodResult
from fmarl.cluster.run_context import context_of
from fmarl.cluster.settings import ClusterSettings
from fmarl.cluster.state import AggregationResult, CommittedState
from fmarl.engine.compiled import keep_compiled_programs, learning_keys, make_program
from fmarl.engine.engine import EngineState, Needs, Schedule, SlotResult
from fmarl.engine.experiment import Experiment
from fmarl.records.events import EventCode
from fmarl.rollout.batch import Snapshot


class RayEngine:
    """Agents, worlds and the virtual agent as actors of a Ray cluster."""

    def __init__(self, experiment: Experiment, run_id: str, settings: ClusterSettings) -> None:
        self._experiment, self._settings = experiment, settings
        context = context_of(experiment, run_id)
        with ExitStack() as opening:
            opening.enter_context(joined(settings.address))
            self._head = ClusterHead()
            self._pool = ActorPool(context, settings)
            opening.callback(self._close_pool)
            worlds: list[Role] = [("world", world) for world in range(experiment.num_worlds)]
            for role in worlds:
                self._pool.start(role)
            spec = self._pool.await_start(worlds)[worlds[0]].spec
            assert spec is not None
            self.spec = spec
            self._closing = opening.pop_all()
        self.sent = Traffic()
        """What agents have sent in the periods that count."""

    def start(self, algorithm: Algorithm, schedule: Schedule) -> None:
        """Start the agents; all have the same parameters."""
        keep_compiled_programs()
        pool, settings, num_agents = self._pool, self._settings, schedule.method.num_agents
        settings.faults.plan.check(num_agents, self._experiment.num_worlds)
        self._schedule, pool.num_agents = schedule, num_agents
        pool.context = pool.context._replace(spec=self.spec)
        self._membership = Membership(pool, num_agents, settings)
        self._program = make_program(algorithm, num_agents)
        _, first = learning_keys(self._experiment.seed)
        state = self._program.init(schedule.method, first)
        worlds = [self._load_world(AttemptId(-1, 0), world, None) for world in pool.worlds]
        self._committed = CommittedState(self._program, EngineState(state, pool.fetch(worlds)))
        self._in_sync: set[Role | int] = set()
        """Worlds and agents whose own state is the committed one."""
        shapes = self._committed.starts([0], shared=not schedule.method.is_delayed)[0]
        self._attempts = AttemptContext(
            pool=pool,
            head=self._head,
            schedule=schedule,
            algorithm=algorithm,
            shapes={name: row.shape for name, row in shapes.items()},
            deadline_seconds=settings.deadline_seconds,
            faults=settings.faults.of(conductor=True),
            any_missing=self._membership.any_missing,
        )

    def advance(self, needs: Needs) -> list[SlotResult]:
        """Have a period played, as often as it takes and is allowed."""
        start = self._committed.update_count
        period, end = self._schedule.period(start), self._schedule.period_end(start)
        self._membership.begin_period()
        number = 0
        while True:
            if self._membership.require_quorum():
                self._in_sync.clear()
            absent = self._membership.absent(period)
            attempt = Attempt(AttemptId(period, number), start, end, absent)
            number += 1  # never used twice in a period, or a late upload could count
            results = self._attempt(attempt, needs)
            if results is not None:
                return results
            self._in_sync.clear()

    def state(self) -> EngineState:
        return self._committed.engine_state()

    def restore(self, state: EngineState) -> None:
        """Continue from there in the next period."""
        self._committed = CommittedState(self._program, state)
        self._in_sync.clear()

    def events(self) -> Sequence[dict[str, Any]]:
        """What has happened to actors, agents and worlds since the last call."""
        new = list(self._pool.events)
        self._pool.events.clear()
        return new

    def close(self) -> None:
        """End all actors, and leave the cluster."""
        self._closing.close()

    def _close_pool(self) -> None:
        if self._head.is_up:  # else its hosts end them by themselves, in a minute
            self._pool.close()

    def _attempt(self, attempt: Attempt, needs: Needs) -> list[SlotResult] | None:
        """One attempt of a period; None if it failed and the failure was handled."""
        begins = self._begin(attempt)
        try:
            result, aggregation = self._attempts.run(self._committed, attempt, begins, needs)
        except AttemptFailed as problem:
            period = attempt.id.period
            self._membership.handle_failure(period, attempt.absent, begins, problem)
            return None
        if aggregation is not None:
            self._membership.refuse(aggregation.receipts)
            if aggregation.averages is None:
                return None
        self._commit(attempt, result, aggregation)
        counts = range(attempt.start + 1, attempt.end + 1)
        return [self._slot_result(attempt, count, result) for count in counts]

    def _begin(self, attempt: Attempt) -> list[Any]:
        """Have all actors begin the period; what each agent acts with at its start."""
        for world in self._pool.worlds:
            if ("world", world) in self._in_sync:
                self._pool.call(("world", world), "begin_period", attempt.id)
            else:
                self._load_world(attempt.id, world, self._committed.snapshots[world])
        return [self._begin_agent(attempt, agent) for agent in range(self._pool.num_agents)]

    def _begin_agent(self, attempt: Attempt, agent: int) -> Any:
        """An absent agent is still driven, by what it last was."""
        committed, given = self._committed, (attempt.id, attempt.absent)
        if agent in attempt.absent:
            return committed.functions.acting(committed.agents[agent])
        if agent in self._in_sync:
            given = (*given, committed.average_of(agent))
            return self._pool.call_agent(agent, "begin_period", given)
        return self._pool.call_agent(agent, "load_state", (*given, committed.agents[agent]))

    def _load_world(self, attempt: AttemptId, world: int, snapshot: Snapshot | None) -> Reference:
        count = 0 if snapshot is None else self._committed.update_count
        return self._pool.call(("world", world), "load_state", attempt, count, snapshot)

    def _commit(
        self, attempt: Attempt, result: PeriodResult, aggregation: AggregationResult | None
    ) -> None:
        """The period counts."""
        self._committed.commit(
            attempt.end,
            {agent: final.state for agent, final in result.final.items()},
            aggregation,
            [world.snapshot for world in result.worlds[-1]],
        )
        self._in_sync = {*result.final, *[("world", world) for world in self._pool.worlds]}
        for final in result.final.values():
            self.sent = Traffic(*map(sum, zip(self.sent, final.sent, strict=True)))
        for slot in result.worlds:
            for world in slot:
                self._pool.events += world.events
        period = attempt.id.period
        for agent in aggregation.outliers if aggregation else ():
            self._membership.note(EventCode.OUTLIER, agent=agent, period=period)
        if attempt.absent:
            absent = sorted(attempt.absent)
            self._membership.note(EventCode.PERIOD_WITHOUT, period=period, agents=absent)
        self._membership.commit()

    def _slot_result(self, attempt: Attempt, count: int, result: PeriodResult) -> SlotResult:
        index = count - attempt.start - 1
        agents = result.agents[index]
        columns, states = result.transitions.get(count), result.states.get(count)
        active = [own.metrics for own in agents.values() if own.active]
        reward = float(np.mean([world.reward for world in result.worlds[index]]))
        return SlotResult(
            update_count=count,
            metrics={**_means(active), "train_reward": reward},
            bad_agents=[agent for agent, own in agents.items() if not own.finite],
            absent=attempt.absent,
            transitions=None if columns is None else _side_by_side(columns),
            state=None if states is None else self._committed.within_period(states, count),
        )


def _means(metrics: Sequence[dict[str, float]]) -> dict[str, float]:
    """Over the agents that finished a step, as in one process."""
    return {
        name: float(np.mean([own[name] for own in metrics], dtype=np.float32))
        for name in (metrics[0] if metrics else ())
    }


def _side_by_side(columns: Sequence[dict[str, np.ndarray]]) -> Transitions:
    """The transitions of all agents as one record."""
    return Transitions(
        **{
            name: jnp.asarray(np.stack([own[name] for own in columns], axis=1))
            for name in columns[0]
        }
    )
