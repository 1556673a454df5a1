"""Faults of a plan as they strike a process, at the steps that the plan names."""

import os
import signal
from collections.abc import Sequence

from fmarl.cluster.charge import Ticket
from fmarl.cluster.faults import STEP, Fault, find


class Misfortune:
    """What a plan has in store for one process."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = faults

    def at(
        self,
        ticket: Ticket,
        *,
        slot: int | None = None,
        exchange: int | None = None,
        point: str | None = None,
    ) -> None:
        """Strike, if the plan says so: what is killed here does not return."""
        place = {"slot": slot, "exchange": exchange, "point": point}
        for fault in find(self._faults, period=ticket.period, attempt=ticket.attempt, **place):
            if fault.about == STEP:
                strike(fault.word)

    def of_upload(self, ticket: Ticket) -> list[Fault]:
        """Faults of what is sent at the end of a period."""
        found = find(self._faults, period=ticket.period, attempt=ticket.attempt)
        return [fault for fault in found if fault.about == "upload"]


def strike(word: str) -> None:
    """Do to this process what a word says."""
    if word == "abort":
        os.abort()
    os.kill(os.getpid(), signal.SIGSTOP if word == "stop" else signal.SIGKILL)
