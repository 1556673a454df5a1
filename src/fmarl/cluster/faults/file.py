"""Reading a fault plan from a file; every mistake is one line: file, fault, value, what to do."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fmarl.cluster.faults.plan import CLAIM, PLACES, POINTS, WORDS, Fault, FaultPlan, claimed
from fmarl.errors import BadInput, did_you_mean, require
from fmarl.settings_io import read_file, refuse_unknown

LARGEST_NUMBER = 10**9
EVERY = "every"
TARGETS = ("agent", "world", "virtual", "conductor")


def read_faults(path: Path) -> FaultPlan:
    """The plan of a TOML or JSON file."""
    content = read_file(path)
    refuse_unknown(content, ("faults",), str(path))
    listed = content.get("faults")
    if not isinstance(listed, list):
        raise BadInput(f"{path} lists no faults. In TOML write [[faults]] before each.")
    faults = [_fault(f"{path}, fault {number}", entry) for number, entry in enumerate(listed, 1)]
    return FaultPlan(tuple(faults), str(path))


def _fault(where: str, entry: Any) -> Fault:
    refuse_unknown(entry, Fault._fields, where)
    for name in ("do", "period"):
        if name not in entry:
            raise BadInput(f"{where} has no {name}. Add one: every fault has it.")
    fault = Fault(**{name: _value(where, name, value) for name, value in entry.items()})
    _check_place(where, fault, entry)
    return fault


def _value(where: str, name: str, value: object) -> Any:
    """A value of the right kind, or `BadInput`."""
    if name == "do":
        return _do(where, value)
    if name in ("virtual", "conductor"):
        holds, allowed = value is True, "true"
    elif name == "point":
        holds, allowed = value in POINTS, ", ".join(POINTS)
    else:
        holds = type(value) is int and 0 <= value <= LARGEST_NUMBER
        allowed = f"a whole number from 0 to {LARGEST_NUMBER}"
    if name == "attempt":
        holds, allowed = holds or value == EVERY, f'{allowed}, or "{EVERY}"'
    require(holds, f"{where}: {name} = {value!r:.40}", allowed, "Change it or leave it out.")
    return None if value == EVERY else value


def _do(where: str, value: object) -> str:
    word, colon, number = value.partition(":") if isinstance(value, str) else ("", "", "")
    if word not in WORDS:
        hint = did_you_mean(word, WORDS)
        raise BadInput(f"{where}: do = {value!r:.40} is unknown. {hint}")
    claims = word == CLAIM
    require(
        _is_number(number) if claims else not colon,
        f"{where}: do = {value!r:.40}",
        f"{word}:N, N being a number" if claims else word,
        "Write claim:7, say." if claims else "Leave out the rest.",
    )
    return f"{word}{colon}{number}"


def _is_number(text: str) -> bool:
    try:
        claimed(f"{CLAIM}:{text}")
    except ValueError:
        return False
    return True


def _check_place(where: str, fault: Fault, given: Iterable[str]) -> None:
    """One target, one that the word can strike, and no more said of the place than it knows."""
    named = set(given)
    targets = [name for name in TARGETS if name in named]
    possible = PLACES[fault.about]
    require(
        len(targets) == 1 and targets[0] in possible,
        f"{where}: {fault.do} of {' and '.join(targets) or 'nobody'}",
        f"one of {', '.join(possible)}",
        "Name one.",
    )
    known = possible[targets[0]]
    extra = sorted(named - {"do", "period", targets[0], *known})
    require(
        not extra,
        f"{where}: {', '.join(extra)} with {fault.do} of {targets[0]}",
        ", ".join(known) or "nothing but the period",
        "Leave it out.",
    )
    for needed, needing in (("point", "point" in known), ("slot", "exchange" in named)):
        if needing and needed not in named:
            raise BadInput(f"{where} has no {needed}. Add one: it says where in the period.")
