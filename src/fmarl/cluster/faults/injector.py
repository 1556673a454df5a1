"""Faults of a plan as they strike a process, at the steps that the plan names."""

import os
import signal
from collections.abc import Sequence
from typing import Any

from fmarl.cluster.faults.plan import SIMULATOR, STEP, UPLOAD, Fault, find
from fmarl.cluster.run_context import Ticket


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
        for fault in self._of(STEP, ticket, slot=slot, exchange=exchange, point=point):
            strike(fault.word)

    def of_simulator(self, ticket: Ticket, slot: int | None) -> list[Fault]:
        """Faults of what a world has its road played by."""
        return self._of(SIMULATOR, ticket, slot=slot)

    def of_upload(self, ticket: Ticket) -> list[Fault]:
        """Faults of what is sent at the end of a period."""
        return self._of(UPLOAD, ticket)

    def _of(self, about: str, ticket: Ticket, **place: Any) -> list[Fault]:
        found = find(self._faults, period=ticket.period, attempt=ticket.attempt, **place)
        return [fault for fault in found if fault.about == about]


def strike(word: str) -> None:
    """Do to this process what a word says."""
    if word == "abort":
        os.abort()
    os.kill(os.getpid(), signal.SIGSTOP if word == "stop" else signal.SIGKILL)
