"""One agent in a process of its own: it learns where it is, and tells its neighbours.

Every call carries a ticket. A call of a try that was given up is refused, so that what was asked
before and comes late can not disturb what is asked now.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.algorithm import Acting, Transitions
from fmarl.cluster.agent_state import (
    SHARED,
    Arrays,
    Packed,
    Self,
    packed,
    shared_row,
    taken_in,
    unpacked,
)
from fmarl.cluster.faults.injector import Misfortune, strike
from fmarl.cluster.faults.plan import Fault
from fmarl.cluster.faults.uploads import tampered
from fmarl.cluster.run_context import Charge, Place, Superseded, Ticket, own_place
from fmarl.cluster.upload import PARAMETERS, Upload, digest_of, make_upload
from fmarl.engine.compiled import keep_compiled_programs, learning_keys, make_program
from fmarl.engine.engine import Schedule
from fmarl.engine.experiment import Experiment
from fmarl.federation.update import neighbours
from fmarl.rollout.batch import columns_of, empty_batch
from fmarl.worlds.world import WorldSpec

BEFORE = Ticket(-1, 0)


class Findings(NamedTuple):
    """What is to be known of one agent's slot."""

    metrics: dict[str, float]
    active: bool
    finite: bool


class Sent(NamedTuple):
    """What an agent has handed over in a period, as it was."""

    uploads: int = 0
    upload_bytes: int = 0
    exchanges: int = 0
    exchange_bytes: int = 0


class HandedIn(NamedTuple):
    """What an agent leaves at the end of a period."""

    own: Packed
    sent: Sent


class LoneAgent:
    """An agent. Its methods are called in the order of a slot: `learn`, `mix`, …; then `hand_in`.

    `learn` and the last `mix` of a slot also step; they return what the agent then acts with.
    """

    def __init__(self, agent: int, charge: Charge, faults: Sequence[Fault] = ()) -> None:
        experiment = charge.opened()
        assert charge.spec is not None
        self._agent, self._run_id, self._faults = agent, charge.run_id, Misfortune(faults)
        self._course = Schedule(experiment, charge.spec)
        algorithm = experiment.make_algorithm(charge.spec)
        keep_compiled_programs()
        self._program = make_program(algorithm, self._course.method.num_agents)
        self._key, _ = learning_keys(experiment.seed)
        self._ticket, self._sequence = BEFORE, 0
        self._last_upload: Upload | None = None
        self._falls = False
        self._warm_up(experiment, charge.spec)

    def stand(self, ticket: Ticket, away: frozenset[int], own: Packed) -> Acting:
        """Be as an agent is kept by the conductor, and begin a period."""
        self._own = unpacked(own, self._structure)
        return self.begin(ticket, away, None)

    def begin(self, ticket: Ticket, away: frozenset[int], average: Arrays | None) -> Acting:
        """Take in the average of the period before, and begin another."""
        if self._falls:  # its upload has been taken, and this is how it would hear of it
            strike("kill")
        self._ticket, self._away, self._sent = ticket, away, Sent()
        self._faults.at(ticket)
        self._own = taken_in(self._program, self._own, average)
        self._base = digest_of({PARAMETERS: self._own.row})
        return self._acting()

    def learn(
        self, ticket: Ticket, update_count: int, steps: bool, shows: bool, lived: Arrays
    ) -> tuple[Findings, Any, Packed | None]:
        """Learn from a slot; with `steps`, step too, which nobody is asked about."""
        self._check(ticket)
        self._faults.at(ticket, slot=update_count % self._course.sync_period)
        method = self._course.at(update_count, self._away)
        columns = {name: jnp.asarray(column) for name, column in lived.items()}
        lesson = self._program.stages.learn(
            method,
            np.int32(self._agent),
            *self._own,
            Transitions(**columns),
            self._key,
            np.int32(update_count),
        )
        metrics, active, finite = jax.device_get((lesson.metrics, lesson.active, lesson.finite))
        self._own = Self(self._own.row, lesson.memory)
        numbers = {name: float(value) for name, value in metrics.items()}
        found = Findings(numbers, bool(active), bool(finite))
        return found, *self._stepped(update_count, np.asarray(lesson.step), steps, shows)

    def mix(
        self,
        ticket: Ticket,
        update_count: int,
        round_: int,
        steps: bool,
        shows: bool,
        *rows: np.ndarray,
    ) -> tuple[Any, Packed | None]:
        """Mix what oneself and the neighbours found, in the order of agents, and step if asked."""
        self._check(ticket)
        period = self._course.sync_period
        self._faults.at(ticket, slot=update_count % period, exchange=round_)
        method = self._course.at(update_count, self._away)
        weights = method.mixing[round_, self._agent]
        whose = neighbours(weights, self._agent)
        mixed = self._program.stages.mix(weights[whose], np.stack(rows))
        self._count_exchanges(len(rows) - 1, rows[0].nbytes)
        return self._stepped(update_count, np.asarray(mixed), steps, shows)

    def hand_in(
        self, ticket: Ticket, update_count: int, uploads: bool, outcome: Any
    ) -> tuple[list[Upload], HandedIn]:
        """Send what the virtual agent averages, and leave oneself with the conductor.

        With delays it is the step that is sent, which is then the `outcome` of the last slot.
        """
        self._check(ticket)
        step = outcome if self._course.method.is_delayed else None
        sent = self._upload(ticket, update_count, step) if uploads else []
        for fault in self._faults.of_upload(ticket) if uploads else []:
            if fault.word == "stop-before-upload":
                strike("stop")
            self._falls = self._falls or fault.word == "kill-after-upload"
            sent = [one for upload in sent for one in tampered(upload, fault, self._last_upload)]
        self._last_upload = sent[-1] if sent else None
        return sent, HandedIn(packed(self._own), self._sent)

    def _upload(self, ticket: Ticket, update_count: int, step: np.ndarray | None) -> list[Upload]:
        arrays = {PARAMETERS: self._own.row if step is None else step}
        shared = None if step is not None else shared_row(self._program, self._own.memory)
        if shared is not None:
            arrays[SHARED] = shared
        self._sequence += 1
        size = sum(array.nbytes for array in arrays.values())
        self._sent = self._sent._replace(uploads=1, upload_bytes=size)
        turns = self._course.at(update_count - 1, self._away).local_updates
        return [
            make_upload(
                run_id=self._run_id,
                period=ticket.period,
                attempt=ticket.attempt,
                agent=self._agent,
                base=self._base,
                local_updates=int(turns[ticket.period % len(turns), self._agent]),
                sequence=self._sequence,
                arrays=arrays,
            )
        ]

    def _stepped(
        self, update_count: int, step: np.ndarray, steps: bool, shows: bool
    ) -> tuple[Any, Packed | None]:
        """The step as it is passed on, or what to act with after it was made."""
        if not steps:
            return step, None
        method = self._course.at(update_count, self._away)
        row = np.asarray(self._program.stages.move(method, self._own.row, step))
        self._own = Self(row, self._own.memory)
        return self._acting(), packed(self._own) if shows else None

    def _acting(self) -> Acting:
        return jax.device_get(self._program.act(*self._own))

    def _count_exchanges(self, neighbours: int, size: int) -> None:
        sent = self._sent
        self._sent = sent._replace(
            exchanges=sent.exchanges + neighbours,
            exchange_bytes=sent.exchange_bytes + neighbours * size,
        )

    def _check(self, ticket: Ticket) -> None:
        if ticket != self._ticket:
            raise Superseded(f"agent {self._agent} is at {self._ticket}, not at {ticket}")

    def _warm_up(self, experiment: Experiment, spec: WorldSpec) -> None:
        """Compile before anybody waits: learn from a slot in which nothing happens."""
        method = self._course.method
        state = self._program.init(method, self._key)
        row, memory = jax.tree.map(lambda leaf: leaf[0], (state.parameters, state.memory))
        self._structure = jax.tree.structure(memory)
        lived = columns_of([empty_batch(spec, experiment.steps_per_update)])
        columns = {name: jnp.asarray(column[:, 0]) for name, column in lived.items()}
        given = (np.int32(self._agent), row, memory, Transitions(**columns), self._key, np.int32(0))
        jax.block_until_ready(self._program.stages.learn(method, *given))


class Household:
    """The agents of one process: one, unless there are so many that they have to share."""

    def __init__(
        self, agents: Sequence[int], charge: Charge, faults: Sequence[Sequence[Fault]]
    ) -> None:
        self._agents = {
            agent: LoneAgent(agent, charge, own) for agent, own in zip(agents, faults, strict=True)
        }

    def place(self) -> Place:
        """Where these agents are; the answer comes at once unless one is at work."""
        return own_place()

    def ask(self, call: tuple[int, str, tuple[Any, ...]], *brought: Any) -> Any:
        """Call a method of an agent: with what it is given, and what others have brought."""
        agent, what, given = call
        return getattr(self._agents[agent], what)(*given, *brought)
