"""From what a user types to a world: a road's word, `gym:ID`, `pettingzoo:MODULE`, or a toy."""

import difflib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from fmarl.errors import BadInput
from fmarl.worlds import figure_eight, merge
from fmarl.worlds.gymnasium_world import gymnasium_world
from fmarl.worlds.pettingzoo_world import pettingzoo_world
from fmarl.worlds.toy import bumpy_world, quadratic_world
from fmarl.worlds.world import World

WORLDS: dict[str, Callable[..., World]] = {
    "figure-eight": figure_eight.make,
    "merge": merge.make,
    "toy-quadratic": quadratic_world,
    "toy-bumpy": bumpy_world,
}
"""From the word of the command line to a function that makes the world."""

FAMILIES: dict[str, Callable[..., World]] = {"gym": gymnasium_world, "pettingzoo": pettingzoo_world}
"""Worlds of others, by the word before the colon; what follows it is their name."""


def make_world(word: str, **options: Any) -> World:
    """The world that a word names, with some of its options changed.

    >>> with make_world("toy-quadratic", num_agents=3) as world:
    ...     world.spec.num_agents
    3
    """
    family, colon, name = word.partition(":")
    if colon and family in FAMILIES:
        return FAMILIES[family](name, **options)
    if word in WORLDS:
        return WORLDS[word](**options)
    raise _unknown(word)


def manual(word: str) -> str:
    """What a world is: for a road the docstring of its file, for the others of their maker.

    >>> manual("figure-eight").splitlines()[0]
    'Figure Eight: 14 vehicles on a closed loop that crosses itself, half of them learning.'
    """
    maker = WORLDS.get(word) or FAMILIES.get(word.partition(":")[0])
    if maker is None:
        raise _unknown(word)
    road = sys.modules[maker.__module__].__doc__ if maker.__name__ == "make" else None
    return inspect.cleandoc(road or maker.__doc__ or "")


def _unknown(word: str) -> BadInput:
    close = difflib.get_close_matches(word, WORLDS, n=1)
    hint = f"Did you mean {close[0]}?" if close else "Or gym:CartPole-v1, pettingzoo:MODULE."
    return BadInput(f"world {word!r:.60} is not known: {', '.join(WORLDS)}. {hint}")
