"""Errors that end a command in one line: the value, what is allowed, how to fix it."""

import difflib
import math
from collections.abc import Iterable

BAD_INPUT = 2
"""Exit code for input that can not be used; nothing has been changed by then."""


class BadInput(ValueError):  # noqa: N818 — it reads as what happened
    """Input that can not be used. The command line prints it as one line and exits with code 2."""


class EngineFailed(RuntimeError):  # noqa: N818 — it reads as what happened
    """An engine that has lost too much to continue. What was learned until then can be saved."""


def require(holds: bool, what: str, allowed: str, fix: str) -> None:
    """Raise a one-line `BadInput` unless the check holds.

    >>> require(False, "decay_rate = 2.0", "0 < decay_rate <= 1", "Use 1 for no decay.")
    Traceback (most recent call last):
    fmarl.errors.BadInput: decay_rate = 2.0 is not allowed: 0 < decay_rate <= 1. Use 1 for no decay.
    """
    if not holds:
        raise BadInput(f"{what} is not allowed: {allowed}. {fix}")


def require_word(what: str, word: str, known: Iterable[str], usual: str) -> None:
    """Raise `BadInput` unless a word is known, with the one that was probably meant.

    >>> require_word("weights", "papr", ["paper", "optimal"], "Use paper.")
    Traceback (most recent call last):
    fmarl.errors.BadInput: weights 'papr' is not allowed: one of paper, optimal. Did you mean paper?
    """
    words = list(known)
    fix = did_you_mean(word, words, usual)
    require(word in words, f"{what} {word!r:.60}", f"one of {', '.join(words)}", fix)


def require_positive(**numbers: float | int) -> None:
    """Raise `BadInput` on the first number that is not positive and finite.

    >>> require_positive(radius=0.0)
    Traceback (most recent call last):
    fmarl.errors.BadInput: radius = 0.0 is not allowed: radius > 0. Give a positive number.
    """
    for name, value in numbers.items():
        holds = math.isfinite(value) and value > 0
        require(holds, f"{name} = {value}", f"{name} > 0", "Give a positive number.")


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """The known word that is nearest, or if none is near, all of them or what else to do.

    >>> did_you_mean("rng", ["ring", "path"]), did_you_mean("moon", ["ring", "path"])
    ('Did you mean ring?', 'Known: ring, path.')
    """
    known = list(known)
    if close := difflib.get_close_matches(word, known, n=1):
        return f"Did you mean {close[0]}?"
    return otherwise or f"Known: {', '.join(known)}."
