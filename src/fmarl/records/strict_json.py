"""JSON as the standard has it, with a seal where it must not change unnoticed.

Stricter than Python's: no NaN, no name twice in an object, and a file is one object. A sealed file
carries the sha256 of its own content, so a flipped bit or an edit is found out. It gives back what
it was given, so what is not finite is spelled out in it: {"not finite": "-inf"}.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from fmarl.errors import BadInput, require
from fmarl.settings_io import parse_json

SEAL = "sha256"
LARGEST_SEALED = 1 << 24
NOT_FINITE = "not finite"
NOT_FINITE_WORDS = ("nan", "inf", "-inf")


class Malformed(ValueError):  # noqa: N818 — it reads as what happened
    """Bytes that are not what they should be; the text is the reason."""


def encode_line(record: Mapping[str, Any]) -> bytes:
    r"""Return a record as one line: arrays as lists, and null for what is not a finite number.

    >>> encode_line({"loss": np.float32(0.1), "norm": float("inf"), "rewards": np.zeros(2)})
    b'{"loss":0.1,"norm":null,"rewards":[0.0,0.0]}\n'
    """
    return _dump(plain(record), separators=(",", ":")) + b"\n"


def decode(content: bytes) -> dict[str, Any]:
    """Return the object that bytes hold; `Malformed` if they hold anything else."""
    try:
        found = parse_json(content.decode())
    except RecursionError:
        raise Malformed("it is nested too deeply") from None
    except ValueError as problem:
        raise Malformed(f"it is not JSON ({problem})") from None
    if not isinstance(found, dict):
        raise Malformed("it is not a JSON object")
    return found


def seal(facts: Mapping[str, Any]) -> bytes:
    """Return facts as a sealed file that people can read too."""
    require(SEAL not in facts, f"{SEAL} among the facts", "any other name", "Rename it.")
    try:
        known = decode(_dump(_spelled(facts)))  # names become words, tuples lists
    except Malformed as problem:
        raise BadInput(f"facts can not be written: {problem}. Give each a name.") from None
    content = _dump({**known, SEAL: _digest(known)}, indent=2) + b"\n"
    require(
        len(content) <= LARGEST_SEALED,
        f"{len(content)} bytes of facts",
        f"at most {LARGEST_SEALED}",
        "Put long lists of numbers into arrays.",
    )
    return content


def unseal(content: bytes) -> dict[str, Any]:
    """Return the facts of a sealed file; `Malformed` if a single one was changed."""
    facts = decode(content)
    stated = facts.pop(SEAL, None)
    with suppress(ValueError, RecursionError):  # a number beyond floating point, or a deep nest
        if stated == _digest(facts):
            return _read_out(facts)
    raise Malformed("it was changed after it was written")


def _spelled(value: Any) -> Any:
    """Numbers that JSON does not know, in words."""
    if isinstance(value, Mapping):
        return {name: _spelled(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {NOT_FINITE: str(value)}
    return value


def _read_out(value: Any) -> Any:
    """The reverse of `_spelled`."""
    if isinstance(value, list):
        return [_read_out(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {NOT_FINITE} and value[NOT_FINITE] in NOT_FINITE_WORDS:
        return float(value[NOT_FINITE])
    return {name: _read_out(part) for name, part in value.items()}


def plain(value: Any) -> Any:
    """A value as JSON knows it: arrays as lists, and null for what is not a finite number."""
    if hasattr(value, "__array__"):
        return plain(_numbers(np.asarray(value)))
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _numbers(array: np.ndarray) -> Any:
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        # The digits that tell a float32 from its neighbours, not those of the float64 it widens to.
        array = array.astype(str).astype(np.float64)
    return array.tolist()


def _dump(value: Any, **layout: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, **layout).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadInput(f"facts that JSON can not hold: {problem}. Give plain values.") from None


def _digest(facts: Mapping[str, Any]) -> str:
    canonical = json.dumps(facts, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
