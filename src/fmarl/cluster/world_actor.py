"""A world in an actor: it plays slots with the agents' networks, and gives each its own part."""

import os
import signal
from typing import Any, NamedTuple

from fmarl.algorithms.algorithm import Acting
from fmarl.child_process import children_named
from fmarl.cluster.faults.injector import NO_FAULTS, FaultInjector
from fmarl.cluster.inbox import AttemptId, StaleAttempt
from fmarl.cluster.run_context import Location, RunContext, own_location
from fmarl.federation.update import stacked, unstacked
from fmarl.rollout.batch import Snapshot, columns_of
from fmarl.rollout.policy import Policy, PolicyParameters
from fmarl.rollout.pool import WorldPool


class WorldSlotResult(NamedTuple):
    """What the driver wants to know of a world's slot; transitions go to the agents."""

    reward: float
    snapshot: Snapshot
    """Of the world at the end of the slot."""
    events: list[dict[str, Any]]


class WorldActor:
    """One world of a run. Its own process is supervised and restarted by `WorldPool`."""

    def __init__(self, world: int, context: RunContext, faults: FaultInjector = NO_FAULTS) -> None:
        experiment = context.load_experiment()
        self._world, self._faults = world, faults
        self._steps = experiment.steps_per_update
        self._sync_period = experiment.together.sync_period
        with children_named(f"run-{context.run_id}"):
            self._pool = WorldPool([experiment.maker], run_seed=experiment.seed, first_world=world)
        self._attempt = AttemptId(-1, 0)

    def location(self) -> Location:
        return own_location(self._pool.specs[0])

    def load_state(
        self, attempt: AttemptId, update_count: int, snapshot: Snapshot | None
    ) -> Snapshot:
        """Go to where a slot ended, or stay at the beginning, and begin a period."""
        if snapshot is not None:
            self._pool.restore([snapshot], update_count)
        self.begin_period(attempt)
        return self._pool.snapshots[0]

    def begin_period(self, attempt: AttemptId) -> None:
        self._attempt = attempt
        self._inject(attempt, slot=None)

    def play(
        self,
        attempt: AttemptId,
        slot: int,
        kind: str,
        activation: str,
        before: WorldSlotResult | None,
        *acting: Acting,
    ) -> tuple[Any, ...]:
        """Play a slot: each agent's transitions, then the slot's result.

        `before` only says which slot must be over.
        """
        if attempt != self._attempt:
            raise StaleAttempt(f"world {self._world} is at {self._attempt}, not at {attempt}")
        self._inject(attempt, slot % self._sync_period)
        parameters = None if kind == "random" else PolicyParameters(*stacked(acting))
        [batch] = self._pool.play(Policy(kind, parameters, activation), self._steps)
        events = [event._asdict() for event in self._pool.events]
        self._pool.events.clear()
        result = WorldSlotResult(batch.mean_reward, self._pool.snapshots[0], events)
        return *unstacked(columns_of([batch]), len(acting), axis=1), result

    def _inject(self, attempt: AttemptId, slot: int | None) -> None:
        self._faults.at(attempt, slot=slot)
        if self._faults.kills_simulator(attempt, slot):
            [pid] = self._pool.pids
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
