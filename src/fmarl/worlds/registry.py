"""From a word to a world: a road, a toy, `gym:ID`, `pettingzoo:MODULE`, or one of your own."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

from fmarl.errors import BadInput, did_you_mean
from fmarl.plugins import WORLD, check_options, is_plugin, load
from fmarl.worlds.gymnasium_world import gymnasium_world
from fmarl.worlds.own_world import own_world
from fmarl.worlds.pettingzoo_world import pettingzoo_world
from fmarl.worlds.sumo import figure_eight, merge
from fmarl.worlds.toy import bumpy_world, quadratic_world
from fmarl.worlds.world import World

WORLDS: dict[str, Callable[..., World]] = {
    "figure-eight": figure_eight.make,
    "merge": merge.make,
    "toy-quadratic": quadratic_world,
    "toy-bumpy": bumpy_world,
}
"""From the word of the command line to a function that makes the world."""

ROADS = ("figure-eight", "merge")
"""Worlds of traffic, whose reward is the normalised average speed (NAS), and which SUMO can drive
by itself (`controlled=False`)."""

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
    if word not in WORLDS:
        if is_plugin(word, WORLD):
            return own_world(word, options)
        raise _unknown(word)
    check_options(WORLDS[word], options, word)
    try:
        return WORLDS[word](**options)
    except (TypeError, ValueError) as problem:  # such as a word where a number belongs
        if isinstance(problem, BadInput):
            raise
        raise BadInput(
            f"options {options!r:.60} are not allowed: {problem}. See fmarl world {word} --about."
        ) from None


def manual(word: str) -> str:
    """What a world is: for a road the docstring of its file, for the others of their maker.

    >>> manual("figure-eight").splitlines()[0]
    'Figure Eight: 14 vehicles on a closed loop that crosses itself, half of them learning.'
    """
    maker = WORLDS.get(word) or FAMILIES.get(word.partition(":")[0])
    if maker is None and is_plugin(word, WORLD):
        return inspect.getdoc(load(word, WORLD)) or ""
    if maker is None:
        raise _unknown(word)
    road = sys.modules[maker.__module__].__doc__ if maker.__name__ == "make" else None
    return inspect.cleandoc(road or maker.__doc__ or "")


def _unknown(word: str) -> BadInput:
    hint = did_you_mean(word, WORLDS, "Or gym:CartPole-v1, pettingzoo:MODULE, MODULE:NAME.")
    return BadInput(f"world {word!r:.60} is not known: {', '.join(WORLDS)}. {hint}")
