"""Reading a fault plan from a file; every mistake is one line: file, fault, value, what to do."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fmarl.cluster.faults.plan import CLAIM, PLACES, POINTS, WORDS, Fault, FaultPlan, claimed
from fmarl.errors import BadInput, require
from fmarl.records.strict_json import decode

LARGEST_FILE = 5_000_000
"""Bytes; a fault takes about 80."""
LARGEST_NUMBER = 10**9
EVERY = "every"
TARGETS = ("agent", "world", "virtual", "conductor")


def read_faults(path: Path) -> FaultPlan:
    """The plan of a TOML or JSON file."""
    content = _content_of(path)
    _refuse_unknown(str(path), content, ("faults",))
    listed = content.get("faults")
    if not isinstance(listed, list):
        raise BadInput(f"{path} lists no faults. In TOML write [[faults]] before each.")
    faults = [_fault(f"{path}, fault {number}", entry) for number, entry in enumerate(listed, 1)]
    return FaultPlan(tuple(faults), str(path))


def _content_of(path: Path) -> dict[str, Any]:
    require(
        path.suffix in (".json", ".toml"),
        f"fault plan {path}",
        "a name that ends in .json or .toml",
        "Rename it.",
    )
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as problem:
        raise BadInput(f"{path} can not be read: {problem}. Check the path.") from None
    require(
        len(content) <= LARGEST_FILE,
        f"{path} with more than {LARGEST_FILE} bytes",
        "a few lines a fault",
        "Use fewer faults.",
    )
    try:
        return decode(content) if path.suffix == ".json" else tomllib.loads(content.decode())
    except (ValueError, RecursionError) as problem:  # all that either parser raises is one of them
        raise BadInput(f"{path} can not be used: {problem}. Correct it.") from None


def _fault(where: str, entry: object) -> Fault:
    if not isinstance(entry, Mapping):
        raise BadInput(f"{where}: {_shown(entry)} is not a table. Write name = value pairs.")
    _refuse_unknown(where, entry, Fault._fields)
    for name in ("do", "period"):
        if name not in entry:
            raise BadInput(f"{where} has no {name}. Add one: every fault has it.")
    fault = Fault(**{name: _value(where, name, value) for name, value in entry.items()})
    _check_place(where, fault, entry.keys())
    return fault


def _value(where: str, name: str, value: object) -> Any:
    """A value of the right kind, or `BadInput`."""
    if name == "do":
        return _deed(where, value)
    if name in ("virtual", "conductor"):
        holds, allowed = value is True, "true"
    elif name == "point":
        holds, allowed = value in POINTS, ", ".join(POINTS)
    else:
        holds = type(value) is int and 0 <= value <= LARGEST_NUMBER
        allowed = f"a whole number from 0 to {LARGEST_NUMBER}"
    if name == "attempt":
        holds, allowed = holds or value == EVERY, f'{allowed}, or "{EVERY}"'
    require(holds, f"{where}: {name} = {_shown(value)}", allowed, "Change it or leave it out.")
    return None if value == EVERY else value


def _deed(where: str, value: object) -> str:
    word, colon, number = value.partition(":") if isinstance(value, str) else ("", "", "")
    if word not in WORDS:
        known = ", ".join(WORDS)
        raise BadInput(f"{where}: do = {_shown(value)} is unknown. {_hint(word, WORDS, known)}")
    claims = word == CLAIM
    require(
        _is_number(number) if claims else not colon,
        f"{where}: do = {_shown(value)}",
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


def _refuse_unknown(where: str, given: Mapping[str, object], known: tuple[str, ...]) -> None:
    for name in given:
        if name not in known:
            hint = _hint(name, known, ", ".join(known))
            raise BadInput(f"{where}: unknown name {_shown(name)}. {hint}")


def _hint(word: str, known: Iterable[str], listed: str) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known: {listed}."


def _shown(value: object) -> str:
    try:
        return f"{value!r:.40}"
    except (ValueError, RecursionError):  # Python writes out no number of thousands of digits
        return "too long to show"
