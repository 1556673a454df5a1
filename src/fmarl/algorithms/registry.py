"""From what a user types to an algorithm: ppo, trpo, tac, or one of the user's own."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Algorithm
from fmarl.algorithms.ppo import make_ppo
from fmarl.algorithms.tac import make_tac
from fmarl.algorithms.trpo import make_trpo
from fmarl.errors import BadInput, did_you_mean, require
from fmarl.plugins import ALGORITHM, call, is_plugin, load, offered, require_result
from fmarl.settings_io import from_plain, parse_changes
from fmarl.user_code import own_code

ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    "ppo": make_ppo,
    "trpo": make_trpo,
    "tac": make_tac,
}
"""From the word of the command line to a function that makes the algorithm."""


def require_algorithm(word: str) -> None:
    """Refuse a word that no algorithm has; one of a user's own is not looked for yet."""
    if word not in ALGORITHMS and not is_plugin(word, ALGORITHM):
        known = ", ".join([*ALGORITHMS, *offered(ALGORITHM)])
        hint = did_you_mean(word, ALGORITHMS, "Use ppo.")
        raise BadInput(f"algorithm {word!r:.40} is not allowed: {known}, or MODULE:NAME. {hint}")


def own_config(word: str, changes: Sequence[str]) -> Any:
    """Settings of an algorithm of the user's own, from words such as `entropy_weight=0.01`.

    They are what its first parameter says: a frozen dataclass.
    """
    with own_code(f"algorithm {word}"):
        make = load(word, ALGORITHM)
        kind: Any = _first_type(make) if callable(make) else None
    what = f"algorithm {word} whose first parameter is of type {getattr(kind, '__name__', kind)}"
    require(_is_frozen_record(kind), what, ALGORITHM.shape, "Annotate it so.")
    with own_code(f"algorithm {word}: its settings"):
        return from_plain(kind, parse_changes(changes), "set_algorithm")


def _first_type(make: Callable[..., Any]) -> Any:
    """The annotation of the first parameter."""
    first = next(iter(inspect.signature(make).parameters), "")
    return typing.get_type_hints(make).get(first)


def _is_frozen_record(kind: Any) -> bool:
    is_record = isinstance(kind, type) and dataclasses.is_dataclass(kind)
    return is_record and getattr(kind, "__dataclass_params__").frozen  # noqa: B009 — not declared


@cache
def make_algorithm(
    word: str,
    config: Any,
    agent: AgentConfig,
    observation_size: int,
    num_actions: int,
    is_discrete: bool,
) -> Algorithm:
    """One algorithm for equal settings, so that runs in one process share what is compiled."""
    shapes = {
        "observation_size": observation_size,
        "num_actions": num_actions,
        "is_discrete": is_discrete,
    }
    if word in ALGORITHMS:
        return ALGORITHMS[word](config, agent, **shapes)
    with own_code(f"algorithm {word}"):
        made = call(word, ALGORITHM, load(word, ALGORITHM), config, agent, **shapes)
    require_result(word, ALGORITHM, isinstance(made, Algorithm), made)
    functions = {name: part for name, part in made._asdict().items() if callable(part)}
    return made._replace(**{name: _guarded(word, name, one) for name, one in functions.items()})


def _guarded(word: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose errors are told as the user's own."""

    def guarded(*arguments: Any) -> Any:
        with own_code(f"algorithm {word} in {name}"):
            return function(*arguments)

    return guarded
