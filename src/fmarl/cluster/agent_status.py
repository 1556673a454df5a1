"""Who takes part in a period, and what becomes of those who die, are late, or send what is no use.

An agent that drops out is away for the whole period, which is then played again without it. Where
an agent stands, and what moves it (a blank: nothing does):

                  lose   late   refuse    replaced  returns   commit    abandon
    present       lost   late   waiting*
    waiting       lost                                        present   present
    lost                                  waiting
    late          lost                    waiting   waiting
    quarantined

    * quarantined, if it is the last strike: refused in that many periods in a row that it was
      asked in. A period that commits with the agent present clears its strikes.

`waiting` is away now and back with the next period, or with the next try of this one. So the lost
are to be replaced before `commit` or `abandon` is called. Who stays late for `patience` periods,
the one it became late in included, is to be replaced too. Below quorum a period is abandoned: all
who can are asked again, `max_retries` times, then the run has to stop.
"""

from dataclasses import dataclass
from typing import Any

from fmarl.errors import require

PRESENT, WAITING, LOST, LATE = "present", "waiting", "lost", "late"
QUARANTINED = "quarantined"

AGENT_LATE = "AGENT_LATE"
AGENT_RETURNED = "AGENT_RETURNED"
AGENT_REPLACED = "AGENT_REPLACED"
AGENT_QUARANTINED = "AGENT_QUARANTINED"
PERIOD_ABANDONED = "PERIOD_ABANDONED"
QUORUM_LOST = "QUORUM_LOST"


def default_quorum(num_agents: int) -> int:
    """Half of the agents, rounded up.

    >>> default_quorum(7), default_quorum(4), default_quorum(1)
    (4, 2, 1)
    """
    return (num_agents + 1) // 2


@dataclass
class _Entry:
    """One agent's line in the roll."""

    standing: str = PRESENT
    why: str = ""
    """The code of what it is away for."""
    strikes: int = 0
    is_struck: bool = False
    """Whether this period gave a strike already: a period gives one, however often it is tried."""
    periods_late: int = 0


class Roll:
    """The agents of a run. `events` grows by what happened; the caller empties it."""

    def __init__(
        self,
        num_agents: int,
        quorum: int,
        max_retries: int,
        strikes_allowed: int = 3,
        patience: int = 3,
    ) -> None:
        _check(num_agents, quorum, max_retries, strikes_allowed, patience)
        self.quorum, self._max_retries = quorum, max_retries
        self._strikes_allowed, self._patience = strikes_allowed, patience
        self._entries = {agent: _Entry() for agent in range(num_agents)}
        self._retries = 0
        self.events: list[dict[str, Any]] = []

    @property
    def present(self) -> tuple[int, ...]:
        """Agents to be asked in this attempt, in their order."""
        return self._who(PRESENT)

    @property
    def away(self) -> dict[int, str]:
        """Agents that are not asked, in their order, and the code of the reason."""
        return {
            agent: entry.why for agent, entry in self._entries.items() if entry.standing != PRESENT
        }

    @property
    def to_replace(self) -> tuple[int, ...]:
        """Agents that need a new process: the dead, and the late for whom patience has run out."""
        spent = [a for a in self._who(LATE) if self._entries[a].periods_late >= self._patience]
        return tuple(sorted([*self._who(LOST), *spent]))

    @property
    def has_quorum(self) -> bool:
        """Whether enough agents are present for the period to count."""
        return len(self.present) >= self.quorum

    def lose(self, agent: int, code: str, detail: str = "") -> None:
        """The agent's process is gone, for the reason that the code names."""
        if self._move(agent, (PRESENT, WAITING, LATE), LOST, code):
            self._tell(code, agent=agent, detail=detail)

    def late(self, agent: int) -> None:
        """The agent was not there at the deadline."""
        if self._move(agent, (PRESENT,), LATE, AGENT_LATE):
            self._entries[agent].periods_late = 1
            self._tell(AGENT_LATE, agent=agent)

    def refuse(self, agent: int, code: str, detail: str = "") -> None:
        """The agent sent what can not be used; the code is that of the inbox."""
        if not self._move(agent, (PRESENT,), WAITING, code):
            return
        entry = self._entries[agent]
        entry.strikes += not entry.is_struck
        entry.is_struck = True
        self._tell(code, agent=agent, detail=detail, strikes=entry.strikes)
        if entry.strikes >= self._strikes_allowed:
            entry.standing = QUARANTINED
            self._tell(AGENT_QUARANTINED, agent=agent)

    def replaced(self, agent: int) -> None:
        """The agent has a new process."""
        if self._move(agent, (LOST, LATE), WAITING):
            self._tell(AGENT_REPLACED, agent=agent)

    def returns(self, agent: int) -> None:
        """A late agent has been heard of again."""
        if self._move(agent, (LATE,), WAITING):
            self._tell(AGENT_RETURNED, agent=agent)

    def commit(self) -> None:
        """The period is over and counts; what follows is about the next one."""
        for entry in self._entries.values():
            entry.is_struck = False
            if entry.standing == PRESENT:
                entry.strikes = 0
            elif entry.standing == LATE:
                entry.periods_late += 1
        self._ask_again()
        self._retries = 0

    def abandon(self) -> bool:
        """Give this try of the period up. Whether there may be another; then all who can are back.

        Attempts go on counting (see `Upload.attempt`).
        """
        self._retries += 1
        goes_on = self._retries <= self._max_retries
        facts = {"present": list(self.present), "away": list(self.away), "retries": self._retries}
        self._tell(PERIOD_ABANDONED if goes_on else QUORUM_LOST, quorum=self.quorum, **facts)
        if goes_on:
            self._ask_again()
        return goes_on

    def _who(self, standing: str) -> tuple[int, ...]:
        return tuple(a for a, entry in self._entries.items() if entry.standing == standing)

    def _move(self, agent: int, sources: tuple[str, ...], target: str, why: str = "") -> bool:
        """Whether the agent stood where it can be moved from; a reason that stands is kept."""
        entry = self._entries[agent]
        if entry.standing not in sources:
            return False
        entry.standing, entry.why = target, why or entry.why
        return True

    def _ask_again(self) -> None:
        for agent in self._who(WAITING):
            self._move(agent, (WAITING,), PRESENT)

    def _tell(self, code: str, **facts: object) -> None:
        self.events.append({"code": code, **facts})


def _check(
    num_agents: int, quorum: int, max_retries: int, strikes_allowed: int, patience: int
) -> None:
    require(num_agents >= 1, f"num_agents = {num_agents}", "1 or more", "Use 7, say.")
    require(
        1 <= quorum <= num_agents,
        f"quorum = {quorum}",
        f"1 to {num_agents}, the number of agents",
        f"Use {default_quorum(num_agents)}, half of them.",
    )
    require(max_retries >= 0, f"max_retries = {max_retries}", "0 or more", "Use 3, say.")
    require(strikes_allowed >= 1, f"strikes_allowed = {strikes_allowed}", "1 or more", "Use 3.")
    require(patience >= 1, f"patience = {patience}", "1 or more", "Use 3, say.")
