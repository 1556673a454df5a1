"""Options of a world from plain data, as the command line and worker processes give them."""

import dataclasses
import difflib
import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from fmarl.errors import BadInput
from fmarl.worlds.sumo.vehicles import FlowDriver

Options = TypeVar("Options")


def changed(preset: Options, changes: Mapping[str, object]) -> Options:
    """The same options with some fields changed; a nested record takes a mapping of its fields.

    >>> from fmarl.worlds.sumo.vehicles import VehicleType
    >>> changed(VehicleType(), {"accel": 2}).accel
    2.0
    """
    values = {name: _value(preset, name, value) for name, value in changes.items()}
    return dataclasses.replace(preset, **values)  # type: ignore[type-var]


def parse_changes(words: Iterable[str]) -> dict[str, object]:
    """Nested changes from words such as `speed_limit=30` and `human_type.accel=2.6`.

    >>> parse_changes(["speed_limit=30", "human_type.accel=2.6", "state=relative"])
    {'speed_limit': 30, 'human_type': {'accel': 2.6}, 'state': 'relative'}
    """
    changes: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise BadInput(f"option {word!r} is not allowed: name=value. Write speed_limit=30.")
        *path, last = name.split(".")
        place = changes
        for part in path:
            place = place.setdefault(part, {})
        place[last] = _parsed(text)
    return changes


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _value(preset: object, name: str, value: object) -> object:
    """The new value of a field, in the type of the old one."""
    known = {field.name for field in dataclasses.fields(preset)}  # type: ignore[arg-type]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(sorted(known))}."
        raise BadInput(f"option {name!r} is not known. {hint}")
    old = getattr(preset, name)
    if isinstance(value, Mapping):
        return changed(FlowDriver() if name == "human_driver" and old is None else old, value)
    if isinstance(value, list):
        return tuple(value)
    if isinstance(old, float) and type(value) is int:
        return float(value)
    if old is not None and value is not None and not isinstance(value, type(old)):
        wanted = type(old).__name__
        raise BadInput(f"option {name} = {value!r:.40} is not allowed: a {wanted}. Change it.")
    return value
