"""Settings as plain data, as JSON and TOML hold them, and back: every mistake is named at once."""

import dataclasses
import difflib
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from fmarl.errors import BadInput

Settings = TypeVar("Settings")
MOST_SHOWN = 5


def to_plain(settings: Any) -> dict[str, Any]:
    """Nested dictionaries and lists of what a settings record holds.

    >>> from fmarl.algorithms.agent_config import AgentConfig
    >>> to_plain(AgentConfig())["hidden"]
    [64, 64]
    """
    return {
        field.name: _plain_value(getattr(settings, field.name))
        for field in dataclasses.fields(settings)
    }


def from_plain(kind: type[Settings], given: object, where: str = "settings") -> Settings:
    """A settings record from plain data; what is not given keeps its default.

    Raises `BadInput` that names all unknown names and wrong types, or else the first value that the
    record itself refuses.

    >>> from fmarl.algorithms.agent_config import AgentConfig
    >>> from_plain(AgentConfig, {"hidden": [32], "discount": 0}).hidden
    (32,)
    """
    mistakes: list[str] = []
    values = _read(kind, given, where, mistakes)
    if mistakes:
        more = f" And {len(mistakes) - MOST_SHOWN} more." if len(mistakes) > MOST_SHOWN else ""
        raise BadInput(" ".join(mistakes[:MOST_SHOWN]) + more)
    return _build(kind, values)


def differences(one: Mapping[str, Any], other: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Names of the settings in which two plain records differ, such as `agent.discount`."""
    names: list[str] = []
    for name in sorted({*one, *other}):
        mine, yours = one.get(name), other.get(name)
        if isinstance(mine, Mapping) and isinstance(yours, Mapping):
            names += differences(mine, yours, f"{prefix}{name}.")
        elif mine != yours:
            names.append(f"{prefix}{name}")
    return names


def _plain_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_plain(value)
    return list(value) if isinstance(value, tuple) else value


def _read(kind: type, given: object, where: str, mistakes: list[str]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        mistakes.append(f"{where} = {given!r:.40} is not a table. Write name = value pairs.")
        return {}
    kinds = {field.name: _kind_of(kind, field.name) for field in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in kinds:
            close = difflib.get_close_matches(str(name), kinds, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(kinds)}."
            mistakes.append(f"{where}: unknown setting {name!r:.40}. {hint}")
        else:
            values[name] = _value(kinds[name], value, f"{where}.{name}", mistakes)
    return values


def _value(kind: Any, value: object, where: str, mistakes: list[str]) -> Any:
    if dataclasses.is_dataclass(kind):
        return (kind, _read(typing.cast(type, kind), value, where, mistakes))
    if typing.get_origin(kind) is tuple:
        (each, _) = typing.get_args(kind)
        fits = isinstance(value, list | tuple) and all(_fits(each, one) for one in value)
        if fits:
            return tuple(each(one) for one in typing.cast(list, value))
        mistakes.append(f"{where} = {value!r:.40} is not a list of {each.__name__}. Change it.")
    elif _fits(kind, value):
        return kind(value)
    else:
        mistakes.append(f"{where} = {value!r:.40} is not a {kind.__name__}. Change it.")
    return None


def _fits(kind: type, value: object) -> bool:
    """Whether a value can be used as it is; a whole number is a fine float unless it overflows."""
    if isinstance(value, bool) or kind is bool:
        return kind is bool and isinstance(value, bool)
    if kind is float and isinstance(value, int):
        return abs(value) < 1e15
    return isinstance(value, kind)


def _kind_of(kind: type, name: str) -> Any:
    return typing.get_type_hints(kind)[name]


def _build(kind: type, values: dict[str, Any]) -> Any:
    """Inner records first, so that each checks itself."""
    ready = {
        name: _build(*value) if isinstance(value, tuple) and _is_nested(value) else value
        for name, value in values.items()
    }
    return kind(**ready)


def _is_nested(value: tuple) -> bool:
    return len(value) == 2 and dataclasses.is_dataclass(value[0]) and isinstance(value[0], type)
