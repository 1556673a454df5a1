"""What goes wrong in a soak: a plan of faults, drawn from a seed."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from cluster.engines import SYNC_PERIOD
from fmarl.cluster.faults.plan import POINTS, Fault

AGENTS, ROUNDS = 4, 2
PERIODS_PER_FAULT = 20
"""Of each of the two kinds: processes that are killed, and bad uploads."""
KILLING_SHARE = 0.7
"""Of the run, in which processes are killed; in the rest all grow old enough to be measured."""

Draw = Callable[[Random, int], Sequence[Fault]]


class FaultKind(NamedTuple):
    """A way to go wrong."""

    name: str
    code: str
    """Of the event that it causes."""
    draw: Draw
    """The faults of one period."""


def _killed_in_a_slot(draw: Random, period: int) -> Sequence[Fault]:
    return [Fault("kill", period, agent=_mortal(draw), slot=draw.randrange(SYNC_PERIOD))]


def _killed_in_an_exchange(draw: Random, period: int) -> Sequence[Fault]:
    slot, exchange = draw.randrange(SYNC_PERIOD), draw.randrange(ROUNDS)
    return [Fault("kill", period, agent=_mortal(draw), slot=slot, exchange=exchange)]


def _two_killed(draw: Random, period: int) -> Sequence[Fault]:
    """The second one when the period is played again, for the first may hold it up before."""
    one, other = draw.sample(range(AGENTS - 1), 2)
    slot = draw.randrange(SYNC_PERIOD)
    return [
        Fault("kill", period, agent=one, slot=slot),
        Fault("kill", period, agent=other, slot=slot, attempt=1),
    ]


def _killed_after_upload(draw: Random, period: int) -> Sequence[Fault]:
    return [Fault("kill-after-upload", period, agent=_mortal(draw))]


def _world_killed(draw: Random, period: int) -> Sequence[Fault]:
    return [Fault("kill", period, world=0, slot=draw.randrange(SYNC_PERIOD))]


def _virtual_killed(draw: Random, period: int) -> Sequence[Fault]:
    return [Fault("kill", period, virtual=True, point=draw.choice(POINTS))]


def _sent(do: str) -> Draw:
    return lambda draw, period: [Fault(do, period, agent=draw.randrange(AGENTS))]


def _mortal(draw: Random) -> int:
    """All but the last agent, which is there from beginning to end, to be measured."""
    return draw.randrange(AGENTS - 1)


KILLS = (
    FaultKind("agent killed in a slot", "AGENT_LOST", _killed_in_a_slot),
    FaultKind("world killed", "WORLD_LOST", _world_killed),
    FaultKind("virtual agent killed", "VIRTUAL_LOST", _virtual_killed),
    FaultKind("agent killed after its upload", "AGENT_REVIVED", _killed_after_upload),
    FaultKind("agent killed in an exchange", "AGENT_LOST", _killed_in_an_exchange),
    FaultKind("two agents killed in a period", "AGENT_LOST", _two_killed),
)
BAD_UPLOADS = (
    FaultKind("NaN uploaded", "NONFINITE", _sent("nan")),
    FaultKind("uploaded twice", "DUPLICATE", _sent("duplicate")),
    FaultKind("float64 uploaded", "BAD_PAYLOAD", _sent("float64")),
    FaultKind("last upload sent again", "STALE", _sent("stale")),
)
COUNTED_CODES = {kind.code for kind in (*KILLS, *BAD_UPLOADS)} | {
    "AGENT_LATE",
    "AGENT_QUARANTINED",
    "PERIOD_ABANDONED",
    "PERIOD_FAILED",
}
"""Codes that are to be among the events as often as planned; some never."""


def draw_faults(periods: int, seed: int) -> list[tuple[FaultKind, Sequence[Fault]]]:
    """What goes wrong in a run, in order.

    Every other period is spared: nobody sends three bad uploads in a row, for which it would be
    out, and who is killed after an upload meets no other fault as it comes back.
    """
    draw, count = Random(seed), max(periods // PERIODS_PER_FAULT, 1)
    kill_at = draw.sample(range(1, int(periods * KILLING_SHARE), 2), count)
    others = sorted(set(range(1, periods - 1, 2)).difference(kill_at))
    pairs = [
        *zip(kill_at, _in_turn(KILLS, count), strict=True),
        *zip(draw.sample(others, count), _in_turn(BAD_UPLOADS, count), strict=True),
    ]
    return [(kind, kind.draw(draw, period)) for period, kind in sorted(pairs)]


def _in_turn(kinds: Sequence[FaultKind], count: int) -> list[FaultKind]:
    return [kinds[number % len(kinds)] for number in range(count)]
