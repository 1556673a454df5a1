"""Parts of a method from the words that a user types; no JAX, for the theory needs them too."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int

from fmarl.errors import BadInput, require
from fmarl.theory import local_updates_from_times, spread_local_updates
from fmarl.topology import WEIGHTS, Graph, graph_from_text

Number = TypeVar("Number", int, float)


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
    known = ", ".join(WEIGHTS)
    require(weights in WEIGHTS, f"weights = {weights!r}", f"one of {known}", "Check the spelling.")
    if isinstance(graph, str):
        graph = graph_from_text(graph, num_agents, seed=seed)
    return WEIGHTS[weights](graph, consensus_step, rounds)


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
