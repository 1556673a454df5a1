"""A period as a graph of calls: all of it is asked for at once, and actors pass results on.

The conductor holds references only. What an agent found goes to its neighbours, what a world showed
goes to its agents, and the conductor waits for the end.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fmarl.cluster.actor_pool import Cast
from fmarl.cluster.run_context import Ticket
from fmarl.engine.engine import Needs, Schedule
from fmarl.federation.ledger import who_uploads
from fmarl.federation.method import Method
from fmarl.federation.update import neighbours

Reference = Any
"""To an object in the cluster."""


class Span(NamedTuple):
    """The slots of one try of a period."""

    ticket: Ticket
    start: int
    """Slots learned before it."""
    end: int
    away: frozenset[int]


class Acts(NamedTuple):
    """How agents act in training."""

    explores: str
    activation: str
    random_updates: int

    def kind(self, slot: int) -> str:
        """The policy of a slot."""
        return "random" if slot < self.random_updates else self.explores


class Asked(NamedTuple):
    """References to everything that a period will have brought."""

    findings: list[dict[int, Reference]]
    """One entry per slot, by agent."""
    played: list[list[Reference]]
    """One entry per slot, by world."""
    lived: dict[int, list[Reference]]
    """By slots learned then, where wanted: what each agent lived through."""
    shown: dict[int, dict[int, Reference]]
    """By slots learned then, where wanted: each agent that is present."""
    uploads: dict[int, Reference]
    handed_in: dict[int, Reference]

    @property
    def ends(self) -> list[Reference]:
        """What is there when all is over."""
        return [*self.handed_in.values(), *self.played[-1]]


def ask_for_period(
    cast: Cast, course: Schedule, acts: Acts, span: Span, acting: Sequence[Reference], wanted: Needs
) -> Asked:
    """Ask for all slots of a period, given what each agent acts with at its start."""
    present = [agent for agent in range(len(acting)) if agent not in span.away]
    asked = Asked([], [], {}, {}, {}, {})
    now, outcome = list(acting), {}
    for count in range(span.start, span.end):
        lived = _ask_worlds(cast, acts, span, count, now, asked)
        if wanted.transitions(count + 1):
            asked.lived[count + 1] = lived
        shows = wanted.state(count + 1) and count + 1 < span.end
        outcome, shown = _ask_agents(cast, course, span, count, present, lived, shows, asked)
        if shows:
            asked.shown[count + 1] = shown
        now = [outcome.get(agent, own) for agent, own in enumerate(now)]
    _ask_for_ends(cast, course, span, present, outcome, asked)
    return asked


def _ask_worlds(
    cast: Cast, acts: Acts, span: Span, slot: int, acting: Sequence[Reference], asked: Asked
) -> list[Reference]:
    """What each agent will live through in a slot."""
    agents = len(acting) // len(cast.worlds)
    lived, played = [], []
    for world in cast.worlds:
        own = acting[world * agents : (world + 1) * agents]
        before = asked.played[-1][world] if asked.played else None
        given = (span.ticket, slot, acts.kind(slot), acts.activation, before, *own)
        *parts, report = cast.ask(("world", world), "play", *given, returns=agents + 1)
        lived += parts
        played.append(report)
    asked.played.append(played)
    return lived


def _ask_agents(
    cast: Cast,
    course: Schedule,
    span: Span,
    count: int,
    present: Sequence[int],
    lived: Sequence[Reference],
    shows: bool,
    asked: Asked,
) -> tuple[dict[int, Reference], dict[int, Reference]]:
    """What each agent will act with after a slot (with delays: its step), and itself if wanted."""
    method = course.at(count, span.away)
    rounds = method.consensus_rounds
    steps = rounds == 0 and not method.is_delayed
    findings, out, shown = {}, {}, {}
    for agent in present:
        given = (span.ticket, count, steps, shows and steps)
        asked_for = cast.ask_agent(agent, "learn", given, lived[agent], returns=3)
        findings[agent], out[agent], shown[agent] = asked_for
    asked.findings.append(findings)
    for round_ in range(rounds):
        last = round_ == rounds - 1
        mixed = {}
        for agent in present:
            given = (span.ticket, count, round_, last, shows and last)
            rows = [out[other] for other in neighbours(method.mixing[round_, agent], agent)]
            mixed[agent], shown[agent] = cast.ask_agent(agent, "mix", given, *rows, returns=2)
        out = mixed
    return out, shown


def _ask_for_ends(
    cast: Cast,
    course: Schedule,
    span: Span,
    present: Sequence[int],
    outcome: dict[int, Reference],
    asked: Asked,
) -> None:
    """The uploads of a period, and the agents themselves."""
    method = course.at(span.end - 1, span.away)
    senders = uploaders(method, span)
    for agent in present:
        given, after = (span.ticket, span.end, agent in senders), outcome[agent]
        uploads, asked.handed_in[agent] = cast.ask_agent(agent, "hand_in", given, after, returns=2)
        if agent in senders:
            asked.uploads[agent] = uploads


def uploaders(method: Method, span: Span) -> frozenset[int]:
    """Who has something for the virtual agent at the end of a period."""
    sends, _ = who_uploads(method, span.end - 1)
    return frozenset(np.flatnonzero(sends).tolist()) - span.away
