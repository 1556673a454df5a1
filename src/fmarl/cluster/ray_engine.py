"""The engine on a cluster: it asks for a period at a time, and takes all of it or nothing.

If an agent is lost in a period, everybody goes back to its start and it is played again without the
lost one: what comes of it equals, bit for bit, a run in one process in whose schedule τ_i is 0
there. A world or the virtual agent that is lost is replaced, and nothing changes at all.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.algorithm import Algorithm, Transitions
from fmarl.cluster.actor_pool import Cast, Role
from fmarl.cluster.agent_actor import Findings, Sent
from fmarl.cluster.agent_state import packed, state_of
from fmarl.cluster.committed_state import Kept
from fmarl.cluster.connect import joined
from fmarl.cluster.faults.injector import Misfortune
from fmarl.cluster.head_watch import Head
from fmarl.cluster.membership import Company
from fmarl.cluster.period_attempt import Broken, Brought, Means, attempt, fetched
from fmarl.cluster.period_graph import Acts, Reference, Span
from fmarl.cluster.run_context import Charge, Ticket, own_code
from fmarl.cluster.settings import ClusterSettings
from fmarl.cluster.world_actor import Played
from fmarl.engine.compiled import keep_compiled_programs, learning_keys, make_program
from fmarl.engine.engine import EngineState, Needs, Schedule, SlotResult
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.rollout.batch import Snapshot

BEFORE = Ticket(-1, 0)


class RayEngine:
    """Agents, worlds and the virtual agent as actors of a Ray cluster."""

    def __init__(self, experiment: Experiment, run_id: str, settings: ClusterSettings) -> None:
        self._experiment, self._settings = experiment, settings
        self._charge = Charge(run_id, describe_experiment(experiment), None, own_code())
        with ExitStack() as opening:
            opening.enter_context(joined(settings.address))
            self._head = Head()
            self._cast = Cast(settings.plan, settings.agents_per_actor, settings.start_seconds)
            opening.callback(self._dismiss)
            worlds: list[Role] = [("world", world) for world in range(experiment.num_worlds)]
            for role in worlds:
                self._cast.hire(role, self._charge)
            self.spec = self._cast.await_start(worlds)[worlds[0]][1]
            self._closing = opening.pop_all()
        self.sent = Sent()
        """What agents have handed over in the periods that count."""

    def start(self, algorithm: Algorithm, schedule: Schedule) -> None:
        """Hire the agents; all have the same parameters."""
        keep_compiled_programs()
        self._course, self._num_agents = schedule, schedule.method.num_agents
        self._settings.plan.check(self._num_agents, self._experiment.num_worlds)
        charge = self._charge._replace(spec=self.spec)
        self._company = Company(self._cast, charge, self._num_agents, self._settings)
        self._program = make_program(algorithm, self._num_agents)
        _, first = learning_keys(self._experiment.seed)
        state = self._program.init(schedule.method, first)
        worlds = [self._stand_world(BEFORE, world, None) for world in self._cast.worlds]
        self._kept = Kept(self._program, EngineState(state, fetched(worlds)))
        self._in_place: set[Role | int] = set()
        """Worlds and agents that stand where the last period left them."""
        self._means = self._make_means(algorithm)

    def advance(self, needs: Needs) -> list[SlotResult]:
        """Have a period played, as often as it takes and is allowed."""
        start = self._kept.update_count
        period, end = self._course.period(start), self._course.period_end(start)
        self._company.begin_period()
        number = 0
        while True:
            if self._company.require_quorum():
                self._in_place.clear()
            span = Span(Ticket(period, number), start, end, self._company.away(period))
            number += 1  # never used twice in a period, or what is still on its way could count
            brought = self._try(span, needs)
            if brought is not None:
                return self._commit(span, brought)
            self._in_place.clear()

    def state(self) -> EngineState:
        """What was learned, and where the worlds stand."""
        return self._kept.rest()

    def restore(self, state: EngineState) -> None:
        """Stand there again, before the next period."""
        self._kept = Kept(self._program, state)
        self._in_place.clear()

    def events(self) -> Sequence[dict[str, Any]]:
        """What has happened to actors, agents and worlds."""
        told = list(self._cast.events)
        self._cast.events.clear()
        return told

    def close(self) -> None:
        """End all actors, and leave the cluster."""
        self._closing.close()

    def _dismiss(self) -> None:
        if self._head.is_there:  # else its hosts end them by themselves, in a minute
            self._cast.close()

    def _make_means(self, algorithm: Algorithm) -> Means:
        shapes = self._kept.starts([0], shared=not self._course.method.is_delayed)[0]
        return Means(
            cast=self._cast,
            head=self._head,
            course=self._course,
            acts=Acts(algorithm.explores, algorithm.activation, algorithm.random_updates),
            run_id=self._charge.run_id,
            pattern={name: row.shape for name, row in shapes.items()},
            deadline_seconds=self._settings.deadline_seconds,
            misfortune=Misfortune(self._settings.plan.of_conductor()),
            is_anybody_gone=self._company.is_anybody_gone,
        )

    def _try(self, span: Span, wanted: Needs) -> Brought | None:
        """One try of a period; None if it failed and it was seen to why."""
        begins = self._begin(span)
        try:
            brought = attempt(self._means, self._kept, span, begins, wanted)
        except Broken as problem:
            self._company.see_to(span, begins, problem)
            return None
        collected = brought.collected
        return brought if collected is None or self._company.has_taken_all(collected) else None

    def _begin(self, span: Span) -> list[Any]:
        """Have everybody begin the period; what each agent acts with at its start."""
        for world in self._cast.worlds:
            if ("world", world) in self._in_place:
                self._cast.ask(("world", world), "begin", span.ticket)
            else:
                self._stand_world(span.ticket, world, self._kept.snapshots[world])
        return [self._begin_agent(span, agent) for agent in range(self._num_agents)]

    def _begin_agent(self, span: Span, agent: int) -> Any:
        if agent in span.away:
            return self._kept.acting(agent)
        given = (span.ticket, span.away)
        if agent in self._in_place:
            return self._cast.ask_agent(agent, "begin", (*given, self._kept.average_of(agent)))
        return self._cast.ask_agent(agent, "stand", (*given, packed(self._kept.selves[agent])))

    def _stand_world(self, ticket: Ticket, world: int, snapshot: Snapshot | None) -> Reference:
        count = 0 if snapshot is None else self._kept.update_count
        return self._cast.ask(("world", world), "stand", ticket, count, snapshot)

    def _commit(self, span: Span, brought: Brought) -> list[SlotResult]:
        """A period that counts."""
        collected = brought.collected
        handed_in = {agent: handed.own for agent, handed in brought.handed_in.items()}
        self._kept.commit(
            span.end,
            handed_in,
            None if collected is None else collected.averages,
            None if collected is None else collected.post,
            [played.snapshot for played in brought.played[-1]],
        )
        self._in_place = {*handed_in, *[("world", world) for world in self._cast.worlds]}
        for handed in brought.handed_in.values():
            self.sent = Sent(*map(sum, zip(self.sent, handed.sent, strict=True)))
        self._tell_of(span, brought)
        self._company.commit()
        return [self._lived(span, index, brought) for index in range(span.end - span.start)]

    def _tell_of(self, span: Span, brought: Brought) -> None:
        for played in [one for slot in brought.played for one in slot]:
            self._company.events += played.events
        for agent in brought.collected.outliers if brought.collected else ():
            self._company.note("OUTLIER", agent=agent, period=span.ticket.period)
        if span.away:
            away = sorted(span.away)
            self._company.note("PERIOD_WITHOUT", period=span.ticket.period, agents=away)

    def _lived(self, span: Span, index: int, brought: Brought) -> SlotResult:
        count = span.start + index + 1
        findings = brought.findings[index]
        lived, shown = brought.lived.get(count), brought.shown.get(count)
        state = None
        if shown is not None:  # those who were away had not moved
            state = state_of(self._kept.with_changes(self._kept.before, shown), count, None)
        return SlotResult(
            update_count=count,
            metrics=_measured(findings, brought.played[index]),
            bad_agents=[agent for agent, found in findings.items() if not found.finite],
            absent=span.away,
            transitions=None if lived is None else _together(lived),
            state=state,
        )


def _measured(findings: dict[int, Findings], played: Sequence[Played]) -> dict[str, float]:
    """Means over those who finished a step, as in one process."""
    active = [found.metrics for found in findings.values() if found.active]
    names = active[0] if active else {}
    means = {
        name: float(np.mean([numbers[name] for numbers in active], dtype=np.float32))
        for name in names
    }
    return {**means, "train_reward": float(np.mean([one.reward for one in played]))}


def _together(lived: Sequence[dict[str, np.ndarray]]) -> Transitions:
    """What all agents lived through, side by side."""
    return Transitions(
        **{name: jnp.asarray(np.stack([own[name] for own in lived], axis=1)) for name in lived[0]}
    )
