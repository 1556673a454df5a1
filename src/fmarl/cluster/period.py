"""One attempt of a period: call for all of it at once, wait, average.

A period is a graph of calls in which actors pass their results on: gradients to neighbours,
transitions from worlds to agents. The driver holds references only, and waits for the end. The
attempt succeeds as a whole, or says what went wrong.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from fmarl.algorithms.algorithm import Algorithm
from fmarl.cluster.actor_pool import ActorPool
from fmarl.cluster.connect import CHECK_SECONDS, ClusterHead
from fmarl.cluster.faults.injector import FaultInjector
from fmarl.cluster.inbox import AttemptId, ExpectedUploads
from fmarl.cluster.membership import VIRTUAL, AttemptFailed, Reference
from fmarl.cluster.state import AggregationResult, CommittedState
from fmarl.engine.engine import Needs, Schedule
from fmarl.federation.ledger import who_uploads
from fmarl.federation.method import Method
from fmarl.federation.update import neighbours


class Attempt(NamedTuple):
    """One attempt of a period."""

    id: AttemptId
    start: int
    """Slots learned before it."""
    end: int
    absent: frozenset[int]


class PeriodResult(NamedTuple):
    """What a period gave. Until it is fetched, there is a reference in place of every result."""

    agents: list[dict[int, Any]]
    """`AgentSlotResult`, one entry per slot, by agent."""
    worlds: list[list[Any]]
    """`WorldSlotResult`, one entry per slot, by world."""
    transitions: dict[int, list[Any]]
    """By slots learned then, where needed: the columns of each agent."""
    states: dict[int, dict[int, Any]]
    """By slots learned then, where needed: the `AgentState` of each agent that is present."""
    final: dict[int, Any]
    """`FinalState` by agent."""


@dataclass(frozen=True, kw_only=True)
class AttemptContext:
    """What the attempts of all periods have in common."""

    pool: ActorPool
    head: ClusterHead
    schedule: Schedule
    algorithm: Algorithm
    shapes: dict[str, tuple[int, ...]]
    """Of what is uploaded, by name."""
    deadline_seconds: float
    faults: FaultInjector
    any_missing: Callable[[], bool]
    """Asked at a deadline: if all are there, they are only slow, and get more time."""

    def run(
        self,
        committed: CommittedState,
        attempt: Attempt,
        begins: Sequence[Reference],
        needs: Needs,
    ) -> tuple[PeriodResult, AggregationResult | None]:
        """Have a period played and averaged; None where nobody averages.

        `begins` is what each agent acts with at its start.
        """
        refs = PeriodResult([], [], {}, {}, {})
        present = [agent for agent in range(len(begins)) if agent not in attempt.absent]
        calls = _PeriodCalls(self.pool, self.schedule, self.algorithm, attempt, refs, present)
        uploads = calls.make(begins, needs)
        try:
            self._wait_for([*refs.final.values(), *refs.worlds[-1]])
            references, structure = jax.tree.flatten(refs)
            result = jax.tree.unflatten(structure, self.pool.fetch(references))
            self.faults.at(attempt.id, point="before-collect")
            aggregation = self._aggregate(committed, attempt, uploads) if uploads else None
            self.faults.at(attempt.id, point="after-aggregate")
        except AttemptFailed as problem:
            problem.uploads = uploads
            raise
        return result, aggregation

    def _wait_for(self, references: Sequence[Reference]) -> None:
        """Wait until all is there, or an actor is found to be missing after the deadline."""
        import ray

        waiting, deadline = list(references), time.monotonic() + self.deadline_seconds
        while waiting:
            seconds = min(deadline - time.monotonic(), CHECK_SECONDS)
            _, waiting = ray.wait(
                waiting, num_returns=len(waiting), timeout=max(seconds, 0), fetch_local=False
            )
            self.head.require_up()
            if waiting and time.monotonic() >= deadline:
                if self.any_missing():
                    raise AttemptFailed("the deadline has passed")
                deadline = time.monotonic() + self.deadline_seconds

    def _aggregate(
        self, committed: CommittedState, attempt: Attempt, uploads: dict[int, Reference]
    ) -> AggregationResult:
        """Have the virtual agent receive the uploads and average."""
        method = self.schedule.at(attempt.end - 1, attempt.absent)
        turns = method.local_updates[attempt.id.period % len(method.local_updates)]
        expected = ExpectedUploads(
            run_id=self.pool.context.run_id,
            period=attempt.id.period,
            attempt=attempt.id.attempt,
            present=frozenset(uploads),
            bases=committed.bases(),
            local_updates=tuple(turns.tolist()),
            shapes=self.shapes,
        )
        agents = range(method.num_agents)
        needed = agents if method.is_delayed else [a for a in agents if a not in uploads]
        starts = committed.starts(needed, shared=not method.is_delayed)
        given = (attempt.id, expected, attempt.absent, attempt.end, starts, committed.in_flight)
        in_order = [uploads[agent] for agent in sorted(uploads)]
        reference = self.pool.call(VIRTUAL, "collect", *given, *in_order)
        self._wait_for([reference])
        return self.pool.fetch([reference])[0]


class _PeriodCalls(NamedTuple):
    """The calls of one attempt."""

    pool: ActorPool
    schedule: Schedule
    algorithm: Algorithm
    attempt: Attempt
    refs: PeriodResult
    present: list[int]

    def make(self, begins: Sequence[Reference], needs: Needs) -> dict[int, Reference]:
        """Call for all slots of the period; references to the uploads, by agent."""
        acting, outcomes = list(begins), {}
        for count in range(self.attempt.start, self.attempt.end):
            transitions = self._play(count, acting)
            if needs.transitions(count + 1):
                self.refs.transitions[count + 1] = transitions
            shows = needs.state(count + 1) and count + 1 < self.attempt.end
            outcomes = self._learn(count, transitions, shows)
            acting = [outcomes.get(agent, own) for agent, own in enumerate(acting)]
        return self._upload(outcomes)

    def _play(self, slot: int, acting: Sequence[Reference]) -> list[Reference]:
        """Each agent's transitions in a slot."""
        worlds, algorithm = self.pool.worlds, self.algorithm
        agents = len(acting) // len(worlds)
        kind = "random" if slot < algorithm.random_updates else algorithm.explores
        transitions, results = [], []
        for world in worlds:
            before = self.refs.worlds[-1][world] if self.refs.worlds else None
            own = acting[world * agents : (world + 1) * agents]
            given = (self.attempt.id, slot, kind, algorithm.activation, before, *own)
            *parts, result = self.pool.call(("world", world), "play", *given, returns=agents + 1)
            transitions += parts
            results.append(result)
        self.refs.worlds.append(results)
        return transitions

    def _learn(
        self, count: int, transitions: Sequence[Reference], shows: bool
    ) -> dict[int, Reference]:
        """What each agent acts with after a slot; with delays, its step."""
        method = self.schedule.at(count, self.attempt.absent)
        rounds = method.consensus_rounds
        steps = rounds == 0 and not method.is_delayed
        results, outcomes, states = {}, {}, {}
        for agent in self.present:
            given = (self.attempt.id, count, steps, shows and steps)
            called = self.pool.call_agent(agent, "learn", given, transitions[agent], returns=3)
            results[agent], outcomes[agent], states[agent] = called
        self.refs.agents.append(results)
        for round_ in range(rounds):
            outcomes, states = self._mix(method, count, round_, shows, outcomes)
        if shows:
            self.refs.states[count + 1] = states
        return outcomes

    def _mix(
        self,
        method: Method,
        count: int,
        round_: int,
        shows: bool,
        outcomes: dict[int, Reference],
    ) -> tuple[dict[int, Reference], dict[int, Reference]]:
        """What each agent has after a round of mixing, and its state where it is shown."""
        last = round_ == method.consensus_rounds - 1
        mixed, states = {}, {}
        for agent in self.present:
            given = (self.attempt.id, count, round_, last, shows and last)
            rows = [outcomes[other] for other in neighbours(method.mixing[round_, agent], agent)]
            called = self.pool.call_agent(agent, "mix", given, *rows, returns=2)
            mixed[agent], states[agent] = called
        return mixed, states

    def _upload(self, outcomes: dict[int, Reference]) -> dict[int, Reference]:
        """The final states of all agents, and the uploads of those that have one."""
        method = self.schedule.at(self.attempt.end - 1, self.attempt.absent)
        sends, _ = who_uploads(method, self.attempt.end - 1)
        senders = frozenset(np.flatnonzero(sends).tolist())
        all_uploads = {}
        for agent in self.present:
            given = (self.attempt.id, self.attempt.end, agent in senders)
            called = self.pool.call_agent(agent, "upload_state", given, outcomes[agent], returns=2)
            all_uploads[agent], self.refs.final[agent] = called
        return {agent: sent for agent, sent in all_uploads.items() if agent in senders}
