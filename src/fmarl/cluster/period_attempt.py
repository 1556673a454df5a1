"""One try of a period: ask, wait, collect. It succeeds wholly, or says what went wrong."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fmarl.cluster.actor_pool import VIRTUAL, Cast
from fmarl.cluster.agent_actor import Findings, HandedIn
from fmarl.cluster.committed_state import Kept
from fmarl.cluster.faults.injector import Misfortune
from fmarl.cluster.head_watch import LOOK_SECONDS, Head
from fmarl.cluster.inbox import Expected
from fmarl.cluster.period_graph import Acts, Asked, Reference, Span, ask_for_period, uploaders
from fmarl.cluster.virtual_agent import Collected
from fmarl.cluster.world_actor import Played
from fmarl.engine.engine import Needs, Schedule
from fmarl.errors import BadInput


class Broken(Exception):  # noqa: N818 — it reads as what happened
    """A try that failed: somebody did not answer, or answered by an error of the cluster."""

    def __init__(self, why: str, asked: Asked | None = None) -> None:
        super().__init__(why)
        self.asked = asked


class Brought(NamedTuple):
    """All that a period brought."""

    findings: list[dict[int, Findings]]
    played: list[list[Played]]
    lived: dict[int, list[Any]]
    shown: dict[int, dict[int, Any]]
    handed_in: dict[int, HandedIn]
    collected: Collected | None
    """None where nobody averages."""


class Means(NamedTuple):
    """What tries of all periods have in common."""

    cast: Cast
    head: Head
    course: Schedule
    acts: Acts
    run_id: str
    pattern: dict[str, tuple[int, ...]]
    """Names and shapes of what is uploaded."""
    deadline_seconds: float
    misfortune: Misfortune
    is_anybody_gone: Callable[[], bool]
    """Asked at a deadline: if all are there, they are only slow, and get more time."""


def attempt(
    means: Means, kept: Kept, span: Span, begins: Sequence[Reference], wanted: Needs
) -> Brought:
    """Have a period played and averaged. `begins` is what each agent acts with at its start."""
    asked = ask_for_period(means.cast, means.course, means.acts, span, begins, wanted)
    try:
        wait_for(means, asked.ends)
        handed_in = dict(zip(asked.handed_in, fetched(list(asked.handed_in.values())), strict=True))
        means.misfortune.at(span.ticket, point="before-collect")
        collected = _collect(means, kept, span, asked)
        means.misfortune.at(span.ticket, point="after-aggregate")
        return _brought(asked, handed_in, collected)
    except Broken as problem:
        problem.asked = asked
        raise


def wait_for(means: Means, references: Sequence[Reference]) -> None:
    """Wait until all is there, or somebody is found to be gone after the deadline."""
    import ray

    waiting, deadline = list(references), time.monotonic() + means.deadline_seconds
    while waiting:
        seconds = min(deadline - time.monotonic(), LOOK_SECONDS)
        _, waiting = ray.wait(
            waiting, num_returns=len(waiting), timeout=max(seconds, 0), fetch_local=False
        )
        means.head.require()
        if waiting and time.monotonic() >= deadline:
            if means.is_anybody_gone():
                raise Broken("the deadline has passed")
            deadline = time.monotonic() + means.deadline_seconds


def fetched(references: list[Reference]) -> list[Any]:
    """What references lead to; `Broken` where the cluster has lost it, or somebody who makes it."""
    import ray
    from ray import exceptions

    try:
        return ray.get(references)
    except exceptions.RayTaskError as problem:
        cause = problem.cause
        if isinstance(cause, BadInput):
            raise BadInput(str(cause)) from None
        raise Broken(f"{type(cause).__name__}: {cause}") from problem
    except exceptions.RayError as problem:
        raise Broken(" ".join(str(problem).split())[:200]) from problem


def _collect(means: Means, kept: Kept, span: Span, asked: Asked) -> Collected | None:
    """Have the virtual agent take the uploads."""
    if not asked.uploads:
        return None
    method = means.course.at(span.end - 1, span.away)
    turns = method.local_updates[span.ticket.period % len(method.local_updates)]
    expected = Expected(
        run_id=means.run_id,
        period=span.ticket.period,
        attempt=span.ticket.attempt,
        present=uploaders(method, span),
        bases=kept.bases(),
        local_updates=tuple(turns.tolist()),
        pattern=means.pattern,
    )
    silent = [agent for agent in range(method.num_agents) if agent not in expected.present]
    needed = range(method.num_agents) if method.is_delayed else silent
    starts = kept.starts(needed, shared=not method.is_delayed)
    given = (span.ticket, expected, span.away, span.end, starts, kept.post)
    uploads = [asked.uploads[agent] for agent in sorted(expected.present)]
    reference = means.cast.ask(VIRTUAL, "collect", *given, *uploads)
    wait_for(means, [reference])
    return fetched([reference])[0]


def _brought(asked: Asked, handed_in: dict[int, HandedIn], collected: Collected | None) -> Brought:
    """Everything else that was asked for, fetched at once."""
    wanted = [list(slot.values()) for slot in asked.findings] + asked.played
    wanted += [*asked.lived.values(), *[list(one.values()) for one in asked.shown.values()]]
    flat = iter(fetched([reference for part in wanted for reference in part]))
    parts = iter([[next(flat) for _ in part] for part in wanted])
    return Brought(
        findings=[dict(zip(slot, next(parts), strict=True)) for slot in asked.findings],
        played=[next(parts) for _ in asked.played],
        lived={count: next(parts) for count in asked.lived},
        shown={
            count: dict(zip(one, next(parts), strict=True)) for count, one in asked.shown.items()
        },
        handed_in=handed_in,
        collected=collected,
    )
