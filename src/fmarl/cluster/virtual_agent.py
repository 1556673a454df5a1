"""The virtual agent in an actor: it takes what the agents upload, and averages in their order."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.cluster.agent_state import Arrays
from fmarl.cluster.faults.injector import Misfortune
from fmarl.cluster.faults.plan import Fault
from fmarl.cluster.inbox import Expected, Inbox, Verdict
from fmarl.cluster.run_context import Charge, Place, Ticket, own_place
from fmarl.cluster.upload import PARAMETERS, Upload
from fmarl.engine.compiled import keep_compiled_programs, make_program
from fmarl.engine.engine import Schedule
from fmarl.federation.delayed import InFlight
from fmarl.federation.method import Method

ENOUGH_TO_COMPARE = 5
"""Uploads from which on one can stand out."""


class Collected(NamedTuple):
    """What came of the uploads of a period."""

    verdicts: list[tuple[int, Verdict]]
    """One for each upload, with the agent whose actor sent it."""
    outliers: list[int]
    averages: list[Arrays] | None
    """What each agent goes on with; None if an upload is missing or was refused."""
    post: list[np.ndarray] | None
    """What is under way then, with delays: the arrays of `InFlight`."""


class VirtualAgent:
    """It remembers nothing: whoever asks tells it what it needs to know."""

    def __init__(self, charge: Charge, faults: Sequence[Fault] = ()) -> None:
        experiment = charge.opened()
        assert charge.spec is not None
        self._course = Schedule(experiment, charge.spec)
        self._faults, self._inbox = Misfortune(faults), Inbox()
        keep_compiled_programs()
        algorithm = experiment.make_algorithm(charge.spec)
        self._program = make_program(algorithm, self._course.method.num_agents)

    def place(self) -> Place:
        """Where the virtual agent is."""
        return own_place()

    def collect(
        self,
        ticket: Ticket,
        expected: Expected,
        away: frozenset[int],
        update_count: int,
        starts: dict[int, Arrays],
        post: list[np.ndarray] | None,
        *uploads: list[Upload],
    ) -> Collected:
        """Take the uploads of those who send one, in their order, and average.

        `starts` is what the others stood at when the period began, and still do.
        """
        self._faults.at(ticket, point="before-collect")
        self._inbox.expect(expected)
        verdicts = []
        for agent, sent in zip(sorted(expected.present), uploads, strict=True):
            verdicts += [(agent, self._inbox.receive(upload)) for upload in sent]
            self._faults.at(ticket, point="mid-collect")
        if self._inbox.missing:
            return Collected(verdicts, [], None, post)
        outliers = self._outliers()
        method = self._course.at(update_count - 1, away)
        if post is None:
            averages = self._averaged(method, update_count - 1, expected.pattern, starts)
        else:
            averages, post = self._delayed_update(
                method, update_count - 1, starts, InFlight(*map(jnp.asarray, post))
            )
        self._faults.at(ticket, point="after-aggregate")
        return Collected(verdicts, outliers, averages, post)

    def judge(self, uploads: Sequence[Upload]) -> list[Verdict]:
        """What becomes of uploads that come too late."""
        return [self._inbox.receive(upload) for upload in uploads]

    def _outliers(self) -> list[int]:
        """Who is much further from the middle of all than most are; of a few nobody can say."""
        if len(self._inbox.accepted) < ENOUGH_TO_COMPARE:
            return []
        rows = np.stack([arrays[PARAMETERS] for arrays in self._inbox.accepted.values()])
        middle = np.sort(rows, axis=0)[len(rows) // 2]
        return self._inbox.outliers({agent: middle for agent in self._inbox.accepted})

    def _averaged(
        self,
        method: Method,
        update_count: int,
        names: Iterable[str],
        starts: dict[int, Arrays],
    ) -> list[Arrays]:
        accepted, agents = self._inbox.accepted, range(method.num_agents)
        period = self._course.period(update_count)
        averaged = {}
        for name in names:
            rows = np.stack([accepted.get(agent, starts.get(agent, {}))[name] for agent in agents])
            averaged[name] = np.asarray(self._program.stages.average(method, period, rows))
        return [{name: rows[agent] for name, rows in averaged.items()} for agent in agents]

    def _delayed_update(
        self, method: Method, update_count: int, starts: dict[int, Arrays], mail: InFlight
    ) -> tuple[list[Arrays], list[np.ndarray]]:
        """With delays: put steps into the post, and hand out what has arrived."""
        accepted = self._inbox.accepted
        zero = np.zeros_like(starts[0][PARAMETERS])
        agents = range(method.num_agents)
        steps = np.stack([accepted[a][PARAMETERS] if a in accepted else zero for a in agents])
        rows = np.stack([starts[agent][PARAMETERS] for agent in agents])
        given = (mail, rows, steps, np.int32(update_count))
        offered, mail = jax.device_get(self._program.stages.deliver(method, *given))
        return [{PARAMETERS: offered[agent]} for agent in agents], jax.tree.leaves(mail)
