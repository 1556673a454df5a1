"""The virtual agent in an actor: it receives the agents' uploads, and averages in their order."""

from collections.abc import Iterable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.cluster.faults.injector import NO_FAULTS, FaultInjector
from fmarl.cluster.inbox import PARAMETERS, AttemptId, ExpectedUploads, Inbox, Receipt, Upload
from fmarl.cluster.run_context import Location, RunContext, own_location
from fmarl.cluster.state import AggregationResult, Arrays
from fmarl.engine.compiled import keep_compiled_programs, make_program
from fmarl.engine.engine import Schedule
from fmarl.federation.delayed import InFlight
from fmarl.federation.method import Method

MIN_UPLOADS_TO_COMPARE = 5
"""With fewer nobody can be called an outlier."""


class VirtualAgent:
    """It has no state: whoever calls tells it what it needs to know."""

    def __init__(self, context: RunContext, faults: FaultInjector = NO_FAULTS) -> None:
        experiment = context.load_experiment()
        assert context.spec is not None
        self._schedule = Schedule(experiment, context.spec)
        self._faults, self._inbox = faults, Inbox()
        keep_compiled_programs()
        algorithm = experiment.make_algorithm(context.spec)
        self._program = make_program(algorithm, self._schedule.method.num_agents)

    def location(self) -> Location:
        return own_location()

    def collect(
        self,
        attempt: AttemptId,
        expected: ExpectedUploads,
        absent: frozenset[int],
        update_count: int,
        starts: dict[int, Arrays],
        in_flight: list[np.ndarray] | None,
        *uploads: list[Upload],
    ) -> AggregationResult:
        """Receive the uploads of the agents that send one, in their order, and average.

        `starts` is the state of the others when the period began, which has not changed.
        """
        self._faults.at(attempt, point="before-collect")
        self._inbox.expect(expected)
        receipts = []
        for agent, sent in zip(sorted(expected.present), uploads, strict=True):
            receipts += [(agent, self._inbox.receive(upload)) for upload in sent]
            self._faults.at(attempt, point="mid-collect")
        if self._inbox.missing:
            return AggregationResult(receipts, [], None, in_flight)
        outliers = self._outliers()
        method = self._schedule.at(update_count - 1, absent)
        if in_flight is None:
            averages = self._average(method, update_count - 1, expected.shapes, starts)
        else:
            mail = InFlight(*map(jnp.asarray, in_flight))
            averages, in_flight = self._average_delayed(method, update_count - 1, starts, mail)
        self._faults.at(attempt, point="after-aggregate")
        return AggregationResult(receipts, outliers, averages, in_flight)

    def receive_late(self, uploads: Sequence[Upload]) -> list[Receipt]:
        return [self._inbox.receive(upload) for upload in uploads]

    def _outliers(self) -> list[int]:
        """Agents that are much further from the median of all than most are."""
        accepted = self._inbox.accepted
        if len(accepted) < MIN_UPLOADS_TO_COMPARE:
            return []
        rows = np.stack([arrays[PARAMETERS] for arrays in accepted.values()])
        median = np.sort(rows, axis=0)[len(rows) // 2]
        return self._inbox.outliers({agent: median for agent in accepted})

    def _average(
        self, method: Method, update_count: int, names: Iterable[str], starts: dict[int, Arrays]
    ) -> list[Arrays]:
        accepted, agents = self._inbox.accepted, range(method.num_agents)
        period = self._schedule.period(update_count)
        averaged = {}
        for name in names:
            rows = np.stack([accepted.get(agent, starts.get(agent, {}))[name] for agent in agents])
            averaged[name] = np.asarray(self._program.stages.average(method, period, rows))
        return [{name: rows[agent] for name, rows in averaged.items()} for agent in agents]

    def _average_delayed(
        self, method: Method, update_count: int, starts: dict[int, Arrays], mail: InFlight
    ) -> tuple[list[Arrays], list[np.ndarray]]:
        """Put the agents' steps in flight, and deliver what has arrived."""
        accepted = self._inbox.accepted
        zero = np.zeros_like(starts[0][PARAMETERS])
        agents = range(method.num_agents)
        steps = np.stack([accepted[a][PARAMETERS] if a in accepted else zero for a in agents])
        rows = np.stack([starts[agent][PARAMETERS] for agent in agents])
        given = (mail, rows, steps, np.int32(update_count))
        offered, mail = jax.device_get(self._program.stages.deliver(method, *given))
        return [{PARAMETERS: offered[agent]} for agent in agents], jax.tree.leaves(mail)
