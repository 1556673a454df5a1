"""Reading settings from a JSON or TOML file: shared values, and a list of settings that differ."""

import difflib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from fmarl.cli.bounds_setting import LARGEST_NUMBER, Setting
from fmarl.errors import BadInput, require

LARGEST_FILE = 5_000_000
"""Bytes; a settings file is a few lines each, so a larger one is a mistake."""
MOST_SETTINGS = 10_000

_KINDS: dict[str, type] = {field.name: field.type for field in fields(Setting)}  # type: ignore[misc]


def read_settings(path: Path, base: Setting) -> list[Setting]:
    """The settings of a file, on top of those given as flags.

    A file is one table of values; under `settings` it may list further tables, each a setting of
    its own that starts from the values above them. A bare JSON list is such a list.
    """
    shared, listed = _split(path, read_table(path))
    start = _updated(base, shared, f"{path}")
    if listed is None:
        return [start]
    require(
        1 <= len(listed) <= MOST_SETTINGS,
        f"{len(listed)} settings in {path}",
        f"1 to {MOST_SETTINGS}",
        "Split the file.",
    )
    return [
        _updated(start, entry, f"{path}, setting {index}") for index, entry in enumerate(listed, 1)
    ]


def read_table(path: Path) -> object:
    """What a JSON or TOML file holds."""
    return _parse(path, _text_of(path))


def _text_of(path: Path) -> str:
    try:
        require(
            path.stat().st_size <= LARGEST_FILE,
            f"{path} with {path.stat().st_size} bytes",
            f"at most {LARGEST_FILE}",
            "Split the file.",
        )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text. Write settings as JSON or TOML.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{path} can not be read: {error}. Check the path.") from None


def _parse(path: Path, text: str) -> object:
    require(
        path.suffix in (".json", ".toml"),
        f"settings file {path}",
        "a name that ends in .json or .toml",
        "Rename it.",
    )
    try:
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        repr(content)  # TOML takes hexadecimal numbers that are too long to be shown in a message
        return content
    except (ValueError, RecursionError) as error:  # both parsers raise ValueErrors of their own
        raise BadInput(
            f"{path} is not valid {path.suffix[1:].upper()}: {error}. Correct it."
        ) from None


def _split(path: Path, content: object) -> tuple[Mapping[str, Any], list[Any] | None]:
    if isinstance(content, list):
        return {}, content
    require(
        isinstance(content, dict),
        f"{path} that holds a {type(content).__name__}",
        "a table of values, or a list of tables",
        'Write for example {"sync_period": 10}.',
    )
    assert isinstance(content, dict)  # for the type checker
    listed = content.pop("settings", None)
    require(
        listed is None or isinstance(listed, list),
        f"settings = {listed!r:.40} in {path}",
        "a list of tables",
        "In TOML write [[settings]] before each.",
    )
    return content, listed


def _updated(base: Setting, entry: object, where: str) -> Setting:
    if not isinstance(entry, Mapping):
        raise BadInput(
            f"{where}: {entry!r:.40} is not a table of values. Write name = value pairs."
        )
    return replace(base, **{key: _value(key, value, where) for key, value in entry.items()})


def _value(key: str, value: object, where: str) -> Any:
    if key not in _KINDS:
        close = difflib.get_close_matches(key, _KINDS, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(_KINDS)}."
        raise BadInput(f"{where}: unknown value {key!r:.40}. {hint}")
    kind = _KINDS[key]
    if kind is str and isinstance(value, list):
        return ",".join(str(item) for item in value)
    if _fits(value, kind):
        return kind(value)
    raise BadInput(f"{where}: {key} = {value!r:.40} is not a {kind.__name__}. Change it.")


def _fits(value: object, kind: type) -> bool:
    """Whether a value can be used as it is; a whole number is a fine float unless it overflows."""
    if isinstance(value, bool):
        return False
    if kind is float and isinstance(value, int):
        return abs(value) < LARGEST_NUMBER
    return isinstance(value, kind)
