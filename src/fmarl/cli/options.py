"""From words to a command's options, by tyro; what is wrong with them in one line, not a panel."""

import contextlib
import importlib
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tyro

from fmarl.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    from fmarl.cli import Command

KINDS = {"INT": "a whole number", "FLOAT": "a number", "PATH": "a path", "STR": "a word"}
"""What tyro calls the values of options, and what people do."""
FLAG = re.compile(r"(?<![\w-])--[a-z][\w.-]*")


def parse_options(word: str, home: str, options: Sequence[str]) -> "Command":
    """The command of this word with these options; `BadInput` in one line on the first mistake."""
    said = io.StringIO()
    module, _, name = home.partition(":")
    command: Any = getattr(importlib.import_module(module), name)
    try:
        with contextlib.redirect_stderr(said):
            # A command may say what its options are before any are given.
            defaults = getattr(command, "defaults", lambda options: None)(options)
            return tyro.cli(command, prog=f"fmarl {word}", args=list(options), default=defaults)
    except SystemExit as stop:
        if stop.code in (None, 0):
            raise
        raise BadInput(f"{_mistake(said.getvalue(), options)} See fmarl {word} --help.") from None


def _mistake(panel: str, options: Sequence[str]) -> str:
    """What tyro says in its panel, in our words; frame (ASCII or not) and help are left out."""
    lines = [line.strip("│╭╮╰╯|+ ") for line in panel.splitlines()[1:-1]]
    text = "\n".join(lines)
    parts = [" ".join(part.split()) for part in re.split(r"[─-]{3,}", text)]
    first, *sections = [part.removeprefix("Error parsing experiment.") for part in parts if part]
    if first.startswith("Unrecognized options: "):
        return _unknown(first.removeprefix("Unrecognized options: "), sections)
    if match := re.match(r"Error parsing (--[\w.-]+):", first):
        return _wrong_value(match[1], sections, options)
    if match := re.match(
        r"invalid choice '(.*)' for argument '(\S+)'. Expected one of (.*)", first
    ):
        choices = re.findall(r"'([^']+)'", match[3])
        hint = did_you_mean(match[1], choices, f"Use {match[2]} {choices[0]}.")
        return f"{match[2]} {match[1]:.60} is not allowed: {', '.join(choices)}. {hint}"
    return f"{first.rstrip('.')}."


def _unknown(words: str, sections: Sequence[str]) -> str:
    """Options that there are not, each with the one that is nearest."""
    unknown = FLAG.findall(words)
    if not unknown:
        return f"{words:.80} is not allowed: more words than it takes. Leave that out."
    near = [match[0] for section in sections if (match := FLAG.findall(_after_colon(section)))]
    hint = f" Did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""
    return f"{', '.join(unknown):.80} is not an option.{hint}"


def _after_colon(section: str) -> str:
    """`Arguments similar to --sead: --seed INT …` without the word that was typed."""
    return section.partition(": ")[2] if section.startswith(("Perhaps", "Arguments")) else ""


def _wrong_value(flag: str, sections: Sequence[str], options: Sequence[str]) -> str:
    given = _given(flag, options)
    helped = next((part for part in sections if part.startswith("Argument helptext:")), "")
    kind = re.search(r"\b(INT|FLOAT|PATH|STR)\b", helped)
    several = bool(re.search(rf"{flag} \[?(INT|FLOAT) \[", helped) or " ...]" in helped)
    wanted = KINDS.get(kind[1] if kind else "", "a value that its help allows")
    wanted = f"{wanted.removeprefix('a ')}s, with blanks between" if several else wanted
    fix = _corrected(given, kind[1] if kind else "", several=several)
    if not fix and (default := re.search(r"\(default: (?!None)([^)]+)\)", helped)):
        fix = default[1]
    hint = f"Write {flag} {fix}." if fix else "Leave it out."
    return f"{flag} {given:.60} is not allowed: {wanted}. {hint}"


def _given(flag: str, options: Sequence[str]) -> str:
    """The words behind a flag, as they were typed."""
    for place, word in enumerate(options):
        name, equals, value = word.partition("=")
        if name.replace("_", "-") == flag.replace("_", "-"):
            after = options[place + 1 :]
            end = next((i for i, one in enumerate(after) if one.startswith("--")), len(after))
            return value if equals else " ".join(after[:end])
    return "this"


def _corrected(given: str, kind: str, *, several: bool) -> str:
    """What was probably meant: 1e3 as 1000, and 32,32 as two numbers."""
    parts = given.replace(",", " ").split() if several else [given]
    try:
        numbers = [float(part) for part in parts]
        whole = [f"{int(number)}" for number in numbers if number.is_integer()]
    except (ValueError, OverflowError):
        return ""
    return " ".join(whole if kind == "INT" else parts) if len(whole) == len(parts) else ""
