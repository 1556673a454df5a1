"""Which agents take part in a period, and what happens to those that die, are late or are refused.

An agent that drops out is absent for the whole period, which is then repeated without it. The
status of an agent, and what changes it (a blank: nothing does):

                  lose   mark_late   refuse    mark_replaced  mark_returned  commit    abandon
    present       lost   late        waiting*
    waiting       lost                                                       present   present
    lost                                       waiting
    late          lost                         waiting        waiting
    quarantined

    * quarantined at the last strike: refused in that many periods in a row that it was asked in.
      A period that commits with the agent present clears its strikes.

`waiting` is absent now and back with the next period, or with the next attempt of this one. So the
lost are to be replaced before `commit` or `abandon` is called. An agent that stays late for
`max_periods_late` periods, the one it became late in included, is to be replaced too. Below quorum
a period is abandoned: all who can are asked again, `max_retries` times, then the run has to stop.
"""

from dataclasses import dataclass
from typing import Any

from fmarl.errors import require
from fmarl.records.events import EventCode

PRESENT, WAITING, LOST, LATE = "present", "waiting", "lost", "late"
QUARANTINED = "quarantined"


def default_quorum(num_agents: int) -> int:
    """Half of the agents, rounded up.

    >>> default_quorum(7), default_quorum(4), default_quorum(1)
    (4, 2, 1)
    """
    return (num_agents + 1) // 2


@dataclass
class AgentStatus:
    """One agent's entry."""

    status: str = PRESENT
    why: str = ""
    """The code of what it is absent for."""
    strikes: int = 0
    is_struck: bool = False
    """Whether this period gave a strike already: it gives one, however often it is attempted."""
    periods_late: int = 0


class StatusTable:
    """The agents of a run. `events` grows by what happened; the caller empties it."""

    def __init__(
        self,
        num_agents: int,
        quorum: int,
        max_retries: int,
        max_strikes: int = 3,
        max_periods_late: int = 3,
    ) -> None:
        require(num_agents >= 1, f"num_agents = {num_agents}", "1 or more", "Use 7, say.")
        require(
            1 <= quorum <= num_agents,
            f"quorum = {quorum}",
            f"1 to {num_agents}, the number of agents",
            f"Use {default_quorum(num_agents)}, half of them.",
        )
        require(max_retries >= 0, f"max_retries = {max_retries}", "0 or more", "Use 3, say.")
        for name, most in (("max_strikes", max_strikes), ("max_periods_late", max_periods_late)):
            require(most >= 1, f"{name} = {most}", "1 or more", "Use 3, say.")
        self.quorum, self._max_retries = quorum, max_retries
        self._max_strikes, self._max_periods_late = max_strikes, max_periods_late
        self._agents = {agent: AgentStatus() for agent in range(num_agents)}
        self._retries = 0
        self.events: list[dict[str, Any]] = []

    @property
    def present(self) -> tuple[int, ...]:
        """Agents to be asked in this attempt, in their order."""
        return tuple(agent for agent, own in self._agents.items() if own.status == PRESENT)

    @property
    def absent(self) -> dict[int, str]:
        """Agents that are not asked, in their order, and the code of the reason."""
        return {agent: own.why for agent, own in self._agents.items() if own.status != PRESENT}

    @property
    def to_replace(self) -> tuple[int, ...]:
        """Agents that need a new process: the dead, and those that were late for too long."""
        most, agents = self._max_periods_late, self._agents.items()
        late = {agent for agent, own in agents if own.status == LATE and own.periods_late >= most}
        return tuple(agent for agent, own in agents if own.status == LOST or agent in late)

    @property
    def has_quorum(self) -> bool:
        return len(self.present) >= self.quorum

    def lose(self, agent: int, code: str, detail: str = "") -> None:
        """The agent's process is gone, for the reason that the code names."""
        if self._move(agent, (PRESENT, WAITING, LATE), LOST, code):
            self._tell(code, agent=agent, detail=detail)

    def mark_late(self, agent: int) -> None:
        if self._move(agent, (PRESENT,), LATE, EventCode.AGENT_LATE):
            self._agents[agent].periods_late = 1
            self._tell(EventCode.AGENT_LATE, agent=agent)

    def refuse(self, agent: int, code: str, detail: str = "") -> None:
        """The agent's upload can not be used; the code is that of the inbox."""
        if not self._move(agent, (PRESENT,), WAITING, code):
            return
        own = self._agents[agent]
        own.strikes += not own.is_struck
        own.is_struck = True
        self._tell(code, agent=agent, detail=detail, strikes=own.strikes)
        if own.strikes >= self._max_strikes:
            own.status = QUARANTINED
            self._tell(EventCode.AGENT_QUARANTINED, agent=agent)

    def mark_replaced(self, agent: int) -> None:
        if self._move(agent, (LOST, LATE), WAITING):
            self._tell(EventCode.AGENT_REPLACED, agent=agent)

    def mark_returned(self, agent: int) -> None:
        """A late agent answers again."""
        if self._move(agent, (LATE,), WAITING):
            self._tell(EventCode.AGENT_RETURNED, agent=agent)

    def commit(self) -> None:
        """The period is over and counts; what follows is about the next one."""
        for own in self._agents.values():
            own.is_struck = False
            if own.status == PRESENT:
                own.strikes = 0
            elif own.status == LATE:
                own.periods_late += 1
        self._readmit_waiting()
        self._retries = 0

    def abandon(self) -> bool:
        """Give this attempt up. Whether there may be another; then all who can are back.

        Attempts keep counting up (see `Upload.attempt`).
        """
        self._retries += 1
        may_retry = self._retries <= self._max_retries
        facts = {"present": list(self.present), "away": list(self.absent), "retries": self._retries}
        code = EventCode.PERIOD_ABANDONED if may_retry else EventCode.QUORUM_LOST
        self._tell(code, quorum=self.quorum, **facts)
        if may_retry:
            self._readmit_waiting()
        return may_retry

    def _move(self, agent: int, sources: tuple[str, ...], target: str, why: str = "") -> bool:
        """Whether the agent's status allowed the change; without a new reason the old one stays."""
        own = self._agents[agent]
        if own.status not in sources:
            return False
        own.status, own.why = target, why or own.why
        return True

    def _readmit_waiting(self) -> None:
        for agent in self._agents:
            self._move(agent, (WAITING,), PRESENT)

    def _tell(self, code: str, **facts: object) -> None:
        self.events.append({"code": code, **facts})
