"""Who is there: actors are hired, found missing, replaced, and the roll of agents is kept."""

from collections.abc import Collection, Sequence
from typing import Any

from fmarl.cluster.actor_pool import VIRTUAL, Cast, Heard, Role
from fmarl.cluster.agent_status import AGENT_LATE, Roll, default_quorum
from fmarl.cluster.inbox import ACCEPTED
from fmarl.cluster.period_attempt import Broken, fetched
from fmarl.cluster.period_graph import Asked, Reference, Span
from fmarl.cluster.run_context import Charge
from fmarl.cluster.settings import ClusterSettings
from fmarl.cluster.virtual_agent import Collected
from fmarl.engine.engine import EngineFailed
from fmarl.errors import BadInput

LISTEN_SECONDS = 10.0
"""Time in which whoever is there answers, once something went wrong; a slot may be in work."""
GLANCE_SECONDS = 0.1
MOST_RIDDLES = 3
"""Tries of a period that may fail though everybody is there."""


class Company:
    """The actors of a run and their agents."""

    def __init__(
        self, cast: Cast, charge: Charge, num_agents: int, settings: ClusterSettings
    ) -> None:
        self.cast, self._charge, self._settings = cast, charge, settings
        self._num_agents = num_agents
        quorum = settings.quorum or default_quorum(num_agents)
        self._roll = Roll(num_agents, quorum, settings.max_retries)
        self._roll.events = self.events = cast.events
        self._late_uploads: dict[int, Reference] = {}
        self._riddles = 0
        houses = sorted({cast.house(agent) for agent in range(num_agents)})
        self._hire([*houses, VIRTUAL])
        cast.await_start([*houses, VIRTUAL])

    def away(self, period: int) -> frozenset[int]:
        """Agents that take no part now: those who can not, and those of whom a plan says so."""
        present = self._roll.present
        gone = frozenset(agent for agent in range(self._num_agents) if agent not in present)
        return gone | self._settings.plan.away(period)

    def begin_period(self) -> None:
        """See who is back."""
        self._riddles = 0
        self._look_for_late(GLANCE_SECONDS)

    def require_quorum(self) -> bool:
        """Below quorum, wait for those who are away, but not for ever; whether that was so."""
        enough = self._roll.has_quorum
        while not self._roll.has_quorum:
            self._replace()
            self._look_for_late(self._settings.deadline_seconds)
            away = ", ".join(f"{agent} ({why})" for agent, why in self._roll.away.items())
            there = len(self._roll.present)
            if not self._roll.abandon():
                raise EngineFailed(
                    f"only {there} of {self._num_agents} agents are there, and a period needs "
                    f"{self._roll.quorum}; away: {away}. Go on with `fmarl resume` when they are "
                    "back."
                )
        return not enough

    def is_anybody_gone(self) -> bool:
        """Whether somebody who takes part is dead or does not answer."""
        missing = self._missing()
        return bool(missing.dead or missing.silent)

    def see_to(self, span: Span, begins: Sequence[Any], problem: Broken) -> None:
        """Find out who was lost in a try of a period, and put right what can be."""
        _, dead, silent = self._missing()
        self._late_uploads |= _uploads(problem.asked)
        if not dead and not silent:
            self._puzzle(span, problem)
        for role in [*dead, *silent]:
            if role[0] != "house":
                self.note(f"{role[0].upper()}_LOST", number=role[1], detail=_why(role, dead))
                self._hire_anew(role)
            elif role in dead:
                self._lose_house(role, span, begins, str(dead[role]))
            else:
                for agent in self._members(role):
                    self._roll.late(agent)

    def has_taken_all(self, collected: Collected) -> bool:
        """Whether all uploads were taken; who sent what is of no use is away in the next try."""
        taken = {agent for agent, verdict in collected.verdicts if verdict.code == ACCEPTED}
        for agent, verdict in collected.verdicts:
            if verdict.code != ACCEPTED and agent in taken:
                self.note(verdict.code, agent=agent, detail=verdict.detail)
            elif verdict.code != ACCEPTED:
                self._roll.refuse(agent, verdict.code, verdict.detail)
        return collected.averages is not None

    def commit(self) -> None:
        """A period is over and counts: the lost have new processes when the next one begins."""
        self._replace()
        self._roll.commit()

    def note(self, code: str, **facts: Any) -> None:
        """Something to be written down."""
        self.events.append({"code": code, **facts})

    def _missing(self) -> Heard:
        houses = {self.cast.house(agent) for agent in self._roll.present}
        worlds: list[Role] = [("world", world) for world in self.cast.worlds]
        seconds = min(LISTEN_SECONDS, self._settings.deadline_seconds)
        return self.cast.call([*sorted(houses), *worlds, VIRTUAL], seconds)

    def _puzzle(self, span: Span, problem: Broken) -> None:
        """A try that failed though all are there: perhaps the network did. Not too often."""
        self._riddles += 1
        self.note("PERIOD_FAILED", period=span.ticket.period, detail=str(problem))
        if self._riddles > MOST_RIDDLES:
            raise EngineFailed(f"period {span.ticket.period} fails every time: {problem}")

    def _lose_house(self, role: Role, span: Span, begins: Sequence[Any], why: str) -> None:
        """Agents that died before they had begun miss nothing: they are back at once."""
        members = [agent for agent in self._members(role) if agent not in span.away]
        unborn = bool(members) and not any(_has_begun(begins[agent]) for agent in members)
        if unborn and self._riddles < MOST_RIDDLES:
            self._riddles += 1
            self.note("AGENT_REVIVED", agents=members, detail=why)
            self._hire_anew(role)
            return
        for agent in self._members(role):
            self._roll.lose(agent, "AGENT_LOST", why)
        self._hire([role])  # it starts while the others go on

    def _look_for_late(self, seconds: float) -> None:
        """See who of the late is back within some time; what they send now is too late."""
        late = [agent for agent, why in self._roll.away.items() if why == AGENT_LATE]
        heard = self.cast.call(sorted({self.cast.house(agent) for agent in late}), seconds)
        for agent in late:
            house = self.cast.house(agent)
            if house in heard.dead:
                self._roll.lose(agent, "AGENT_LOST", str(heard.dead[house]))
            elif house in heard.answers:
                self._roll.returns(agent)
                self._judge_late(agent)
        self._hire(heard.dead)

    def _judge_late(self, agent: int) -> None:
        import ray

        uploads = self._late_uploads.pop(agent, None)
        if uploads is None or not ray.wait([uploads], timeout=GLANCE_SECONDS)[0]:
            return
        try:
            [verdicts] = fetched([self.cast.ask(VIRTUAL, "judge", uploads)])
        except Broken:
            return  # it never came to an upload
        for verdict in verdicts:
            self.note(verdict.code, agent=agent, detail=verdict.detail)

    def _replace(self) -> None:
        """Have new processes for the lost, and for those who were late for too long.

        Who has none by the deadline stays away, and is looked for again after the next period.
        """
        lost = self._roll.to_replace
        late = [agent for agent in lost if self._roll.away[agent] == AGENT_LATE]
        self._hire({self.cast.house(agent) for agent in late})
        for agent in late:
            self._roll.lose(agent, "AGENT_LOST", "late for too long")
        houses = sorted({self.cast.house(agent) for agent in lost})
        heard = self.cast.call(houses, self._settings.deadline_seconds)
        for role, problem in heard.dead.items():
            self.note("NOT_STARTED", agents=self._members(role), detail=str(problem))
        overdue = [role for role in heard.silent if self.cast.is_overdue(role)]
        self._hire([*heard.dead, *overdue])
        for agent in lost:
            if self.cast.house(agent) in heard.answers:
                self._roll.replaced(agent)
                self._late_uploads.pop(agent, None)

    def _hire_anew(self, role: Role) -> None:
        """Have a new process for somebody without whom nothing goes on."""
        for tries_left in reversed(range(MOST_RIDDLES)):
            self._hire([role])
            try:
                self.cast.await_start([role])
                return
            except (BadInput, EngineFailed) as problem:
                if not tries_left:
                    raise
                self.note("NOT_STARTED", **{role[0]: role[1]}, detail=str(problem))

    def _hire(self, roles: Collection[Role]) -> None:
        for role in roles:
            self.cast.bury(role)
            self.cast.hire(role, self._charge, self._num_agents)

    def _members(self, role: Role) -> list[int]:
        return self.cast.members(role, self._num_agents)


def _uploads(asked: Asked | None) -> dict[int, Reference]:
    return {} if asked is None else asked.uploads


def _why(role: Role, dead: dict[Role, Exception]) -> str:
    return str(dead.get(role, "it does not answer"))


def _has_begun(begin: Any) -> bool:
    """Whether an agent got as far as the start of a period."""
    try:
        fetched([begin])
    except Broken:
        return False
    return True
