"""Plain data, as JSON, TOML and `name=value` words hold it, into settings records, and back.

The one reader of settings: whoever takes them from a file or from words uses it, so a mistake gets
the same line everywhere, with where it is, its value, and the nearest name that is known.
"""

import dataclasses
import errno
import json
import os
import stat
import tomllib
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn, TypeVar

from fmarl.errors import BadInput, did_you_mean, require

Settings = TypeVar("Settings")

LARGEST_FILE = 5_000_000
"""Bytes; settings are a few lines each, so a larger file is a mistake."""
LARGEST_WHOLE_FLOAT = 1e15
"""A whole number up to here is a fine float; a longer one may overflow."""
MOST_SHOWN = 5
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
EXAMPLES: dict[type, str] = {int: "1", float: "0.5", bool: "true", str: '"word"'}
"""How values are written in files."""


def read_file(path: Path) -> Any:
    """What a JSON or TOML file holds."""
    known = path.suffix in (".json", ".toml")
    fix = f"If it is TOML, rename it to {path.name}.toml."
    require(known, f"file {path}", "a name that ends in .json or .toml", fix)
    text = _text_of(path)
    try:
        content = parse_json(text) if path.suffix == ".json" else tomllib.loads(text)
        repr(content)  # TOML takes hexadecimal numbers that are too long to be shown in a message
        return content
    except (ValueError, RecursionError) as error:  # both parsers raise ValueErrors of their own
        kind = path.suffix[1:].upper()
        raise BadInput(f"{path} is not valid {kind}: {error}. Correct it.") from None


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read; `OSError` if it is a pipe, a device or anything else without an end."""
    # Opened at once, where a pipe under a file's name would wait for a writer for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def parse_json(text: str) -> Any:
    """JSON as the standard has it: no NaN, no name twice in an object."""
    return json.loads(text, object_pairs_hook=_once_each, parse_constant=_refuse_constant)


def parse_changes(words: Iterable[str]) -> dict[str, Any]:
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
            if not isinstance(place, dict):
                raise BadInput(f"option {word!r} is not allowed: {part} is set. Leave one out.")
        require(last not in place, f"option {word!r}", f"{last} only once", "Leave one out.")
        place[last] = _parsed(text)
        try:
            json.dumps(place[last], allow_nan=False)
        except ValueError:
            raise BadInput(f"option {word!r}: finite numbers only. Write {name}=1.") from None
    return changes


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
    _refuse(_record_mistakes(kind, given, "", where))
    return _record(kind, given, None)


def with_changes(base: Settings, given: object, where: str = "settings") -> Settings:
    """The same record with some fields changed; a nested record takes a table of its fields.

    >>> from fmarl.worlds.sumo.vehicles import VehicleType
    >>> with_changes(VehicleType(), {"accel": 2}).accel
    2.0
    """
    _refuse(_record_mistakes(type(base), given, "", where))
    return _record(type(base), given, base)


def refuse_unknown(given: object, known: Iterable[str], where: str) -> None:
    """Raise `BadInput` unless this is a table of known names only."""
    _refuse(_name_mistakes(given, list(known), "", where))


def _text_of(path: Path) -> str:
    try:
        with open_regular(path) as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(f"{path} can not be read: {why}. Check the path.") from None
    size = f"{path} with more than {LARGEST_FILE} bytes"
    require(len(content) <= LARGEST_FILE, size, "a few lines of settings", "Split the file.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text. Write it as JSON or TOML.") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plain_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_plain(value)
    return list(value) if isinstance(value, tuple) else value


def _refuse(found: Iterable[str]) -> None:
    if mistakes := list(found):
        more = f" And {len(mistakes) - MOST_SHOWN} more." if len(mistakes) > MOST_SHOWN else ""
        raise BadInput(" ".join(mistakes[:MOST_SHOWN]) + more)


def _name_mistakes(given: Any, known: Iterable[str], inside: str, where: str) -> Iterator[str]:
    if not isinstance(given, Mapping):
        shown = f"{inside} = {given!r:.40}" if inside else f"{given!r:.40}"
        yield f"{where}: {shown} is not a table. Write name = value pairs."
        return
    place = f" in {inside}" if inside else ""
    for name in given:
        if name not in known:
            hint = did_you_mean(str(name), known)
            yield f"{where}: unknown setting {name!r:.40}{place}. {hint}"


def _record_mistakes(kind: type, given: Any, inside: str, where: str) -> Iterator[str]:
    kinds = typing.get_type_hints(kind)
    yield from _name_mistakes(given, kinds, inside, where)
    known = [name for name in given if name in kinds] if isinstance(given, Mapping) else []
    for name in known:
        kind, value, path = kinds[name], given[name], f"{inside}.{name}" if inside else name
        if _fits(kind, value):
            continue
        if (record := _record_in(kind)) is not None:
            yield from _record_mistakes(record, value, path, where)
        else:
            fix = _fix(kind, value, name)
            yield f"{where}: {path} = {value!r:.40} is not {_described(kind)}. {fix}"


def _fix(kind: Any, value: object, name: str) -> str:
    """What to write instead of a value that does not fit."""
    if typing.get_origin(kind) is Literal:
        return did_you_mean(str(value), typing.get_args(kind), f"Use {typing.get_args(kind)[0]}.")
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else [kind]
    plain = next((one for one in kinds if one in EXAMPLES), None)
    return f"Write {name} = {EXAMPLES[plain]}, say." if plain else f"Leave {name} out."


def _fits(kind: Any, value: object) -> bool:
    """Whether a value can be used as this type; as a record, only if it is one already."""
    if isinstance(kind, types.UnionType):
        return any(_fits(one, value) for one in typing.get_args(kind))
    if typing.get_origin(kind) is Literal:
        return value in typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            return False
        kinds = _parts(kind, value)
        return len(kinds) == len(value) and all(map(_fits, kinds, value))
    if isinstance(value, bool) or kind is bool:
        return kind is bool and isinstance(value, bool)
    if kind is float and isinstance(value, int):
        return abs(value) < LARGEST_WHOLE_FLOAT
    return isinstance(value, str | list if kind is str else kind)


def _record(kind: type, given: Any, base: Any) -> Any:
    """Inner records first, so that each checks itself."""
    kinds = typing.get_type_hints(kind)
    values = {
        name: _value(kinds[name], value, getattr(base, name, None)) for name, value in given.items()
    }
    return kind(**values) if base is None else dataclasses.replace(base, **values)


def _value(kind: Any, value: Any, base: Any) -> Any:
    """A value that is known to fit, in its type."""
    record = _record_in(kind)
    if record is not None and isinstance(value, Mapping):
        return _record(record, value, base)
    if isinstance(kind, types.UnionType):
        kind = next(one for one in typing.get_args(kind) if _fits(one, value))
    if typing.get_origin(kind) is tuple:
        return tuple(map(_value, _parts(kind, value), value, [None] * len(value)))
    if kind is str and isinstance(value, list):  # such as local_updates = [15, 3]
        return ",".join(map(str, value))
    return float(value) if kind is float else value


def _record_in(kind: Any) -> Any:
    """The record that a type is, or that it may be."""
    choices = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    return next((one for one in choices if dataclasses.is_dataclass(one)), None)


def _parts(kind: Any, value: list | tuple) -> Sequence[Any]:
    """The types of a tuple's parts: the same for all, or one for each."""
    first, *others = typing.get_args(kind)
    return [first] * len(value) if others == [...] else [first, *others]


def _described(kind: Any) -> str:
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        return f"one of {', '.join(inner)}"
    if isinstance(kind, types.UnionType):
        return " or ".join(_described(one) for one in inner if one is not types.NoneType)
    if inner:
        return f"a list, each {_described(inner[0])}"
    return KINDS.get(kind, f"a {kind.__name__}")
