"""A world of the user's own, by `module:name`: a World, a Gymnasium or a PettingZoo environment."""

import sys
from functools import partial
from typing import Any

from fmarl.plugins import WORLD, call, load, require_result, taken_options
from fmarl.settings_io import refuse_unknown
from fmarl.worlds.gymnasium_world import world_of_copies
from fmarl.worlds.pettingzoo_world import world_of_parallel_env
from fmarl.worlds.world import World

OURS = ("num_agents", "epoch_steps")
"""Options of what wraps an environment, where its maker does not take them itself."""


def own_world(word: str, options: dict[str, Any]) -> World:
    """Make what a word names, and wrap it unless it is a world already.

    An environment of Gymnasium is copied `num_agents` times, one for each agent. Epochs of
    environments have `epoch_steps` steps.
    """
    maker = load(word, WORLD)
    named = (taken_options(maker) if callable(maker) else None) or []
    wrapping = {name: options[name] for name in OURS if name in options and name not in named}
    own = {name: value for name, value in options.items() if name not in wrapping}
    make = partial(call, word, WORLD, maker, **own)
    made = make()
    if _is_a(made, "gymnasium", "Env"):
        return world_of_copies(word, make, made, **wrapping)
    if _is_a(made, "pettingzoo", "ParallelEnv"):
        return world_of_parallel_env(word, made, **wrapping)
    require_result(word, WORLD, isinstance(made, World), made)
    refuse_unknown(wrapping, named, f"options of world {word}")
    return made


def _is_a(made: object, package: str, name: str) -> bool:
    """Whether this is an object of a library's class; without having loaded it, it can not be."""
    return package in sys.modules and isinstance(made, getattr(sys.modules[package], name))
