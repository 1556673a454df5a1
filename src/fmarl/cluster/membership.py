"""Which actors are alive: they are started, found missing and replaced, agents' status is kept.

Nothing here knows Ray: `Pool` is all that it asks of whatever runs the actors.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fmarl.cluster.agent_status import StatusTable, default_quorum
from fmarl.cluster.inbox import ACCEPTED, Receipt
from fmarl.cluster.settings import ClusterSettings
from fmarl.errors import BadInput, EngineFailed
from fmarl.records.events import EventCode

POLL_SECONDS = 10.0
"""Time in which live actors answer, once something went wrong; one may be busy with a slot."""
SHORT_POLL_SECONDS = 1.0
"""Time in which an agent that was late may answer before a period goes on without it."""
MAX_UNEXPLAINED = 3
"""Attempts of a period that may fail though all actors are alive."""

Role = tuple[str, int]
"""`("agent-actor", 3)`, `("world", 0)` or `("virtual", 0)`."""
AGENTS = "agent-actor"
VIRTUAL: Role = ("virtual", 0)
Reference = Any
"""To the result of a call, which another call can be given."""


LOST = {"world": EventCode.WORLD_LOST, "virtual": EventCode.VIRTUAL_LOST}
"""What is written when an actor of a role is lost; agents have more to tell."""


class AttemptFailed(Exception):  # noqa: N818 — it reads as what happened
    """An attempt of a period in which an actor did not answer, or answered by an error."""

    uploads: Mapping[int, Reference] = {}
    """Those of the attempt, by agent."""


class PollResult(NamedTuple):
    """The answers of actors that were asked where they are."""

    answers: dict[Role, Any]
    dead: dict[Role, Exception]
    """With the reason: `BadInput` of one that refused to start."""
    silent: list[Role]


@runtime_checkable
class Pool(Protocol):
    """The actors of a run."""

    events: list[dict[str, Any]]

    @property
    def worlds(self) -> list[int]: ...
    def actor_of(self, agent: int) -> Role: ...
    def agents_of(self, role: Role) -> list[int]: ...
    def start(self, role: Role) -> None: ...
    def kill(self, role: Role) -> None: ...
    def await_start(self, roles: Sequence[Role]) -> dict[Role, Any]: ...
    def is_overdue(self, role: Role) -> bool: ...
    def poll(self, roles: Sequence[Role], seconds: float) -> PollResult: ...
    def call(self, role: Role, method: str, *arguments: Any) -> Reference: ...
    def is_ready(self, reference: Reference, seconds: float) -> bool: ...
    def fetch(self, references: Sequence[Reference]) -> list[Any]:
        """The values; `AttemptFailed` where one was lost, or the actor that computes it."""
        ...


class Membership:
    """The actors of a run and the status of its agents."""

    def __init__(self, pool: Pool, num_agents: int, settings: ClusterSettings) -> None:
        self._pool, self._settings = pool, settings
        self._num_agents = num_agents
        quorum = settings.quorum or default_quorum(num_agents)
        self._status = StatusTable(num_agents, quorum, settings.max_retries)
        self._status.events = pool.events
        self._late_uploads: dict[int, Reference] = {}
        self._unexplained = 0
        roles = [*self._actors_of(range(num_agents)), VIRTUAL]
        self._restart(roles)
        pool.await_start(roles)

    def absent(self, period: int) -> frozenset[int]:
        """Agents that take no part now: those that can not, and those that the plan leaves out."""
        return frozenset(self._status.absent) | self._settings.faults.plan.absent(period)

    def begin_period(self) -> None:
        self._unexplained = 0
        self._check_late(SHORT_POLL_SECONDS)

    def require_quorum(self) -> bool:
        """Below quorum, wait a limited time for absent agents; whether that was necessary."""
        status, waited = self._status, not self._status.has_quorum
        while not status.has_quorum:
            self._replace()
            self._check_late(self._settings.deadline_seconds)
            absent = ", ".join(f"{agent} ({why})" for agent, why in status.absent.items())
            num_present = len(status.present)
            if not status.abandon():
                raise EngineFailed(
                    f"only {num_present} of {self._num_agents} agents are there, and a period "
                    f"needs {status.quorum}; away: {absent}. Go on with `fmarl resume` when they "
                    "are back."
                )
        return waited

    def any_missing(self) -> bool:
        """Whether an actor that takes part is dead or does not answer."""
        poll = self._poll_present()
        return bool(poll.dead or poll.silent)

    def handle_failure(
        self,
        period: int,
        absent: frozenset[int],
        begins: Sequence[Reference],
        problem: AttemptFailed,
    ) -> None:
        """Find out which actors were lost in an attempt, and restart or mark them.

        `begins` is what each agent returned, or will, when it began the period.
        """
        _, dead, silent = self._poll_present()
        self._late_uploads |= problem.uploads
        if not dead and not silent:
            self._count_unexplained(period, problem)
        for role in [*dead, *silent]:
            if role[0] != AGENTS:
                why = str(dead.get(role, "it does not answer"))
                self.note(LOST[role[0]], number=role[1], detail=why)
                self._restart_and_wait(role)
            elif role in dead:
                self._lose_actor(role, absent, begins, str(dead[role]))
            else:
                for agent in self._pool.agents_of(role):
                    self._status.mark_late(agent)

    def refuse(self, receipts: Sequence[tuple[int, Receipt]]) -> None:
        """Agents without an accepted upload are absent in the next attempt."""
        accepted = {agent for agent, receipt in receipts if receipt.code == ACCEPTED}
        for agent, receipt in receipts:
            if receipt.code != ACCEPTED and agent in accepted:
                self.note(receipt.code, agent=agent, detail=receipt.detail)
            elif receipt.code != ACCEPTED:
                self._status.refuse(agent, receipt.code, receipt.detail)

    def commit(self) -> None:
        """A period is over and counts: the lost have new processes when the next one begins."""
        self._replace()
        self._status.commit()

    def note(self, code: str, **facts: Any) -> None:
        self._pool.events.append({"code": code, **facts})

    def _poll_present(self) -> PollResult:
        worlds: list[Role] = [("world", world) for world in self._pool.worlds]
        seconds = min(POLL_SECONDS, self._settings.deadline_seconds)
        roles = [*self._actors_of(self._status.present), *worlds, VIRTUAL]
        return self._pool.poll(roles, seconds)

    def _count_unexplained(self, period: int, problem: AttemptFailed) -> None:
        """An attempt failed though all are alive: perhaps the network did. Not too often."""
        self._unexplained += 1
        self.note(EventCode.PERIOD_FAILED, period=period, detail=str(problem))
        if self._unexplained > MAX_UNEXPLAINED:
            raise EngineFailed(f"period {period} fails every time: {problem}")

    def _lose_actor(
        self, role: Role, absent: frozenset[int], begins: Sequence[Reference], why: str
    ) -> None:
        """Agents that died before they had begun miss nothing: they are back at once."""
        agents = [agent for agent in self._pool.agents_of(role) if agent not in absent]
        unborn = bool(agents) and not any(self._has_begun(begins[agent]) for agent in agents)
        if unborn and self._unexplained < MAX_UNEXPLAINED:
            self._unexplained += 1
            self.note(EventCode.AGENT_REVIVED, agents=agents, detail=why)
            self._restart_and_wait(role)
            return
        for agent in self._pool.agents_of(role):
            self._status.lose(agent, EventCode.AGENT_LOST, why)
        self._restart([role])  # it starts while the others continue

    def _has_begun(self, begin: Reference) -> bool:
        try:
            self._pool.fetch([begin])
        except AttemptFailed:
            return False
        return True

    def _check_late(self, seconds: float) -> None:
        """See which late agents answer again within some time; their uploads are too late."""
        late = [agent for agent, why in self._status.absent.items() if why == EventCode.AGENT_LATE]
        poll = self._pool.poll(self._actors_of(late), seconds)
        for agent in late:
            actor = self._pool.actor_of(agent)
            if actor in poll.dead:
                self._status.lose(agent, EventCode.AGENT_LOST, str(poll.dead[actor]))
            elif actor in poll.answers:
                self._status.mark_returned(agent)
                self._refuse_late_uploads(agent)
        self._restart(poll.dead)

    def _refuse_late_uploads(self, agent: int) -> None:
        uploads = self._late_uploads.pop(agent, None)
        if uploads is None or not self._pool.is_ready(uploads, SHORT_POLL_SECONDS):
            return
        try:
            [receipts] = self._pool.fetch([self._pool.call(VIRTUAL, "receive_late", uploads)])
        except AttemptFailed:
            return  # it never came to an upload
        for receipt in receipts:
            self.note(receipt.code, agent=agent, detail=receipt.detail)

    def _replace(self) -> None:
        """Have new processes for the lost, and for those that were late for too long.

        An agent without one by the deadline stays absent, and is polled after the next period.
        """
        lost = self._status.to_replace
        late = [agent for agent in lost if self._status.absent[agent] == EventCode.AGENT_LATE]
        self._restart(self._actors_of(late))
        for agent in late:
            self._status.lose(agent, EventCode.AGENT_LOST, "late for too long")
        poll = self._pool.poll(self._actors_of(lost), self._settings.deadline_seconds)
        for role, problem in poll.dead.items():
            self.note(EventCode.NOT_STARTED, agents=self._pool.agents_of(role), detail=str(problem))
        overdue = [role for role in poll.silent if self._pool.is_overdue(role)]
        self._restart([*poll.dead, *overdue])
        for agent in lost:
            if self._pool.actor_of(agent) in poll.answers:
                self._status.mark_replaced(agent)
                self._late_uploads.pop(agent, None)

    def _restart_and_wait(self, role: Role) -> None:
        """Have a new process for an actor without which no period can be played."""
        for tries_left in reversed(range(MAX_UNEXPLAINED)):
            self._restart([role])
            try:
                self._pool.await_start([role])
                return
            except (BadInput, EngineFailed) as problem:
                if not tries_left:
                    raise
                self.note(EventCode.NOT_STARTED, **{role[0]: role[1]}, detail=str(problem))

    def _restart(self, roles: Collection[Role]) -> None:
        for role in roles:
            self._pool.kill(role)
            self._pool.start(role)

    def _actors_of(self, agents: Collection[int]) -> list[Role]:
        return sorted({self._pool.actor_of(agent) for agent in agents})
