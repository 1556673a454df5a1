"""A world in an actor: it plays slots with the agents' networks, and gives each its own part."""

import os
import signal
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fmarl.algorithms.algorithm import Acting
from fmarl.cluster.faults.injector import Misfortune
from fmarl.cluster.faults.plan import Fault
from fmarl.cluster.run_context import Charge, Place, Superseded, Ticket, own_place
from fmarl.rollout.batch import Batch, Snapshot, columns_of
from fmarl.rollout.policy import Policy, PolicyParameters
from fmarl.rollout.pool import WorldPool
from fmarl.worlds.world import WorldSpec


class Played(NamedTuple):
    """What is to be known of a world's slot, beside what its agents lived through."""

    reward: float
    snapshot: Snapshot
    """Where the world stands after it."""
    events: list[dict[str, Any]]


class Stage:
    """One world of a run. Its own process is watched and brought back by `WorldPool`."""

    def __init__(self, world: int, charge: Charge, faults: Sequence[Fault] = ()) -> None:
        experiment = charge.opened()
        self._world, self._faults = world, Misfortune(faults)
        self._steps = experiment.steps_per_update
        self._sync_period = experiment.together.sync_period
        self._pool = WorldPool([experiment.maker], run_seed=experiment.seed, first_world=world)
        self._ticket = Ticket(-1, 0)
        self._told = 0

    def place(self) -> tuple[Place, WorldSpec]:
        """Where this world is, and its shapes."""
        return own_place(), self._pool.specs[0]

    def stand(self, ticket: Ticket, update_count: int, snapshot: Snapshot | None) -> Snapshot:
        """Stand where a slot ended, or at the beginning, and begin a period."""
        if snapshot is not None:
            self._pool.restore([snapshot], update_count)
        self.begin(ticket)
        return self._pool.snapshots[0]

    def begin(self, ticket: Ticket) -> None:
        """Begin another period."""
        self._ticket = ticket
        self._suffer(ticket, slot=None)

    def play(
        self,
        ticket: Ticket,
        slot: int,
        kind: str,
        activation: str,
        before: Played | None,
        *acting: Acting,
    ) -> tuple[Any, ...]:
        """Play a slot: what each agent lived through, and what is to be known beside it.

        `before` only says which slot must be over.
        """
        if ticket != self._ticket:
            raise Superseded(f"world {self._world} is at {self._ticket}, not at {ticket}")
        self._suffer(ticket, slot % self._sync_period)
        parameters = None if kind == "random" else _together(acting)
        [batch] = self._pool.play(Policy(kind, parameters, activation), self._steps)
        played = Played(batch.mean_reward, self._pool.snapshots[0], self._new_events())
        return *_parted(batch), played

    def _suffer(self, ticket: Ticket, slot: int | None) -> None:
        self._faults.at(ticket, slot=slot)
        if self._faults.of_simulator(ticket, slot):
            [pid] = self._pool.pids
            assert pid is not None
            os.kill(pid, signal.SIGKILL)

    def _new_events(self) -> list[dict[str, Any]]:
        new = self._pool.events[self._told :]
        self._told += len(new)
        return [event._asdict() for event in new]


def _together(acting: Sequence[Acting]) -> PolicyParameters:
    """The networks of the agents of one world."""
    weights, biases, log_std = zip(*acting, strict=True)
    return PolicyParameters(
        tuple(np.stack(layer) for layer in zip(*weights, strict=True)),
        tuple(np.stack(layer) for layer in zip(*biases, strict=True)),
        np.stack(log_std),
    )


def _parted(batch: Batch) -> list[dict[str, np.ndarray]]:
    """What each agent lived through: the columns of `Transitions`."""
    columns = columns_of([batch])
    return [
        {name: column[:, agent] for name, column in columns.items()}
        for agent in range(batch.reward.shape[1])
    ]
