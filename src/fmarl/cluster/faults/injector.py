"""The one hook by which faults get into a run: each process calls it at the steps of its work."""

import os
import signal
from collections.abc import Iterable
from typing import Any

from fmarl.cluster.faults.plan import SIMULATOR, STEP, UPLOAD, Fault, FaultPlan
from fmarl.cluster.faults.uploads import tampered
from fmarl.cluster.inbox import AttemptId, Upload


class FaultInjector:
    """Does to a process what a plan says; plain data that can be sent to the process."""

    def __init__(self, plan: FaultPlan | None = None) -> None:
        self.plan = plan or FaultPlan()
        self._previous: Upload | None = None
        self._dies_at_begin = False

    def of(self, **target: Any) -> "FaultInjector":
        """The hook of one process: `agent=3`, `world=0`, `virtual=True` or `conductor=True`."""
        return FaultInjector(self.plan.of(**target)) if self.plan.faults else NO_FAULTS

    def begin_period(self, attempt: AttemptId) -> None:
        if self._dies_at_begin:  # its upload was accepted, and this is how it would hear of it
            _signal_self("kill")
        self.at(attempt)

    def at(self, attempt: AttemptId, **step: Any) -> None:
        """Reach a step (as in `due`): a process that is to be killed there does not return."""
        for fault in self._due(STEP, attempt, **step):
            _signal_self(fault.word)

    def kills_simulator(self, attempt: AttemptId, slot: int | None) -> bool:
        return bool(self._due(SIMULATOR, attempt, slot=slot))

    def on_upload(self, attempt: AttemptId, uploads: list[Upload]) -> list[Upload]:
        """What an agent sends instead of its upload."""
        if not self.plan.faults:
            return uploads
        for fault in self._due(UPLOAD, attempt) if uploads else []:
            if fault.word == "stop-before-upload":
                _signal_self("stop")
            self._dies_at_begin |= fault.word == "kill-after-upload"
            uploads = [one for own in uploads for one in tampered(own, fault, self._previous)]
        self._previous = uploads[-1] if uploads else None
        return uploads

    def _due(self, about: str, attempt: AttemptId, **step: Any) -> list[Fault]:
        return [fault for fault in due(self.plan.faults, attempt, **step) if fault.about == about]


NO_FAULTS = FaultInjector()
"""Does nothing."""


def due(
    faults: Iterable[Fault],
    attempt: AttemptId,
    *,
    slot: int | None = None,
    exchange: int | None = None,
    point: str | None = None,
) -> list[Fault]:
    """Faults that fire at exactly this step of this attempt.

    The period's start and its upload are both steps without a slot; `Fault.about` tells them apart.

    >>> plan = [Fault("kill", period=5, agent=3, slot=7), Fault("nan", period=5, agent=3)]
    >>> [fault.do for fault in due(plan, AttemptId(5, 0), slot=7)], due(plan, AttemptId(5, 1))
    (['kill'], [])
    """
    step = (slot, exchange, point)
    return [
        fault
        for fault in faults
        if fault.period == attempt.period
        and fault.attempt in (None, attempt.attempt)
        and (fault.slot, fault.exchange, fault.point) == step
    ]


def _signal_self(word: str) -> None:
    if word == "abort":
        os.abort()
    os.kill(os.getpid(), signal.SIGSTOP if word == "stop" else signal.SIGKILL)
