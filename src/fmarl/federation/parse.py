"""Parts of a method from the words that a user types."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from fmarl.errors import BadInput, require, require_word
from fmarl.federation.method import Attack
from fmarl.theory import local_updates_from_times, spread_local_updates
from fmarl.topology import WEIGHTS, Graph, graph_from_text

Number = TypeVar("Number", int, float)

ATTACKS = "sign-flip:F or sign-flip:F:SIZE, scale:F:SIZE, noise:F:STD"
"""How they are written; F is the number of attackers."""


def read_local_updates(
    text: str, step_seconds: str, num_agents: int, sync_period: int
) -> Int[np.ndarray, " agent"]:
    """τ_i from `all`, a range such as `1-15`, a list, or from step times if there are any.

    >>> read_local_updates("1-15", "", num_agents=7, sync_period=15)
    array([15, 13, 11,  9,  7,  5,  3])
    >>> read_local_updates("all", "1,2", num_agents=2, sync_period=10)
    array([10,  5])
    """
    if step_seconds:
        times = [_number(word, float, "step_seconds") for word in step_seconds.split(",")]
        return _one_each(local_updates_from_times(times, sync_period), num_agents, "step_seconds")
    if text == "all":
        return np.full(num_agents, sync_period)
    if "-" in text:
        return spread_local_updates(*read_range(text), num_agents=num_agents)
    listed = [_number(word, int, "local_updates") for word in text.split(",")]
    return _one_each(np.array(listed), num_agents, "local_updates")


def refuse_ignored(settings: Any) -> None:
    """Refuse a word that another one leaves without effect, in the settings of train or bounds.

    Names that settings do not have are left out.
    """
    given = vars(settings)
    defaults = {field.name: field.default for field in fields(settings)}
    for name, why in _ignored(given):
        if given.get(name) != defaults.get(name):
            raise BadInput(f"{name} = {given[name]} is not used: {why}. Leave one of them out.")


def _ignored(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names of settings without effect, and why they have none."""
    if given["step_seconds"]:
        yield "local_updates", f"τ_i come from step_seconds = {given['step_seconds']}"
    if given.get("decay_weights"):
        yield "decay_rate", f"D is decay_weights = {given['decay_weights']}"
    if given["graph"] == "none":
        for name in ("weights", "consensus_step", "consensus_rounds", "seed"):
            yield name, "graph = none, which --graph ring, say, would change"
    elif given["weights"] != "paper":
        yield "consensus_step", f"weights = {given['weights']} have no step, only paper's have"


def read_range(text: str) -> tuple[int, int]:
    """The two ends of a range such as `1-15`."""
    fewest, _, most = text.partition("-")
    return _number(fewest, int, "local_updates"), _number(most, int, "local_updates")


def read_mixing(
    graph: Graph | str, weights: str, consensus_step: float, rounds: int, num_agents: int, seed: int
) -> Float[np.ndarray, "round agent agent"]:
    """Mixing rounds from the words for a graph and for its weights.

    >>> read_mixing("path", "paper", 0.25, 1, num_agents=2, seed=0).tolist()
    [[[0.75, 0.25], [0.25, 0.75]]]
    """
    require_word("weights", weights, WEIGHTS, "Use paper.")
    if isinstance(graph, str):
        graph = graph_from_text(graph, num_agents, seed=seed)
    return WEIGHTS[weights](graph, consensus_step, rounds)


def read_attack(text: str, num_agents: int) -> Attack | None:
    """The attack that a text describes, by the last F agents; None for an empty text.

    >>> attack = read_attack("sign-flip:2:10", num_agents=5)
    >>> attack.attackers.tolist(), float(attack.factor)
    ([False, False, False, True, True], -10.0)
    """
    if not text:
        return None
    kind, *numbers = text.split(":")
    lengths = {"sign-flip": (1, 2), "scale": (2,), "noise": (2,)}.get(kind, ())
    what = f"attack = {text!r:.40}"
    require(len(numbers) in lengths, what, ATTACKS, "Write sign-flip:1:10, say.")
    try:
        attackers, size = int(numbers[0]), float(numbers[1]) if len(numbers) == 2 else 1.0
    except ValueError:
        raise BadInput(f"{what}: numbers only after the word. Write scale:1:100.") from None
    require(0 < size <= 1e6, what, "a size over 0, up to 1e6", "Write scale:1:100, say.")
    require(
        1 <= attackers < num_agents,
        f"{what} of {attackers} among {num_agents} agents",
        f"1 to {num_agents - 1} attackers",
        "Leave an honest agent.",
    )
    factor = {"sign-flip": -size, "scale": size, "noise": 1.0}[kind]
    return Attack(
        attackers=np.arange(num_agents) >= num_agents - attackers,
        factor=np.asarray(factor, float),
        noise=np.asarray(size if kind == "noise" else 0.0, float),
    )


def _one_each(
    listed: Int[np.ndarray, " agent"], num_agents: int, name: str
) -> Int[np.ndarray, " agent"]:
    require(
        len(listed) == num_agents,
        f"{name} for {len(listed)} agents",
        f"one for each of num_agents = {num_agents}",
        f"Give {num_agents} numbers, or change the number of agents.",
    )
    return listed


def _number(word: str, kind: Callable[[str], Number], name: str) -> Number:
    try:
        return kind(word)
    except ValueError:
        example = "1-15 or 15,13,11,9,7,5,3" if kind is int else "1,1.2,2.5"
        raise BadInput(f"{name} has {word!r}: numbers only. Write for example {example}.") from None
