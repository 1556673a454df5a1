"""`method.json`: a method as a run writes it down, drawn numbers and all, and read back.

What decides a run is its experiment in `run.json`; this is what the experiment came to, so that the
page and the report need not work it out again.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fmarl.errors import BadInput
from fmarl.federation.make_method import make_method
from fmarl.federation.method import Attack, Method

NUMBERS = (
    "learning_rate",
    "sync_period",
    "consensus_rounds",
    "uplink_delay",
    "downlink_delay",
    "adopt_every",
)
READ_AS_WRITTEN = ("uplink_delay", "downlink_delay", "adopt_every", "aggregate", "tolerated")
ARRAYS = ("local_updates", "decay", "mixing", "groups", "counted", "edge_agents")
LATER: dict[str, Any] = {
    "groups": [],
    "edge_agents": [],
    "left_out": [],
    "aggregate": "mean",
    "tolerated": 0,
    "attackers": [],
    "attack_factor": 1.0,
    "attack_noise": 0.0,
}
"""What not all versions wrote, and what it was in those that did not."""


def describe_method(method: Method, total_updates: int, updates_per_epoch: int) -> dict[str, Any]:
    """A method as plain data, which `read_method` takes.

    >>> from fmarl.federation.make_method import make_method
    >>> read_method(describe_method(make_method(2, sync_period=3), 30, 6)).local_updates.tolist()
    [[3, 3]]
    """
    attack = method.attack
    return {
        **{name: np.asarray(getattr(method, name)).item() for name in NUMBERS},
        "num_agents": method.num_agents,
        "total_updates": total_updates,
        "updates_per_epoch": updates_per_epoch,
        "local_updates": method.local_updates.tolist(),
        "decay": method.decay.tolist(),
        "links": [_weighted_links(matrix) for matrix in method.mixing],
        "averages": method.averages,
        "groups": method.groups.tolist(),
        "edge_agents": method.edge_agents.tolist() if method.edge_agents.any() else [],
        "left_out": np.flatnonzero(method.left_out).tolist(),
        "aggregate": method.aggregate,
        "tolerated": method.tolerated,
        **({} if attack is None else _describe_attack(attack)),
    }


def completed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What was written, and what its version did not write; a `KeyError` names what is missing."""
    counts = {name: facts[name] for name in ("total_updates", "updates_per_epoch")}
    return {**LATER, **counts, **facts}


def read_method(facts: Mapping[str, Any]) -> Method:
    """The method that was written down.

    The weights of an average of some are not in the file: those who learn count the same, and less
    than 1, for 1 for all would be an average of all.
    """
    facts = completed(facts)
    updates = np.array(facts["local_updates"], np.int32)
    agents, averages = facts["num_agents"], facts["averages"]
    counted = 1.0 - np.isin(np.arange(agents), facts["left_out"])
    alone = np.arange(agents) if averages == "none" else np.zeros(agents)
    return Method(
        learning_rate=np.asarray(facts["learning_rate"], float),
        sync_period=np.asarray(facts["sync_period"], np.int32),
        local_updates=updates,
        decay=np.array(facts["decay"], float),
        mixing=_mixing(facts["links"], agents),
        groups=np.atleast_2d(facts["groups"] or alone).astype(np.int32),
        counted=(updates > 0) / 2 if averages == "some" else counted[None],
        edge_agents=np.array(facts["edge_agents"] or [0] * agents, np.int32),
        attack=_read_attack(facts),
        **{name: facts[name] for name in READ_AS_WRITTEN},
        renormalise=averages == "some",
    )


def method_to_text(method: Method) -> str:
    """All of a method as JSON, bit for bit, so that a run can be resumed with it.

    >>> from fmarl.federation.make_method import make_method
    >>> method_from_text(method_to_text(make_method(2, sync_period=3))).decay.tolist()
    [1.0, 1.0, 1.0]
    """
    parts = {name: _plain_part(value) for name, value in vars(method).items()}
    if method.attack is not None:
        parts["attack"] = {name: _plain_part(one) for name, one in vars(method.attack).items()}
    return json.dumps(parts, sort_keys=True)


def method_from_text(text: str) -> Method:
    """The method that `method_to_text` was given, checked again."""
    try:
        facts: dict[str, Any] = json.loads(text)
        attack = facts.pop("attack")
        agents = len(facts["edge_agents"])
        arrays = {name: np.array(facts.pop(name)) for name in ARRAYS}
        arrays["mixing"] = arrays["mixing"].reshape(-1, agents, agents).astype(float)
        return make_method(
            agents,
            **arrays,
            **facts,
            attack=attack and Attack(**{name: np.asarray(one) for name, one in attack.items()}),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        if isinstance(problem, BadInput):
            raise
        raise BadInput(f"method_record is not a method: {problem}. Make the run again.") from None


def _plain_part(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _weighted_links(matrix: Float[np.ndarray, "agent agent"]) -> list[list[int | float]]:
    """Who mixes with whom in a round and how much: (i, l, weight) with i < l."""
    pairs: Int[np.ndarray, "link 2"] = np.argwhere(np.triu(matrix, k=1) != 0)
    return [[int(i), int(j), float(matrix[i, j])] for i, j in pairs]


def _mixing(
    rounds: list[list[list[int | float]]], agents: int
) -> Float[np.ndarray, "round agent agent"]:
    mixing = np.zeros((len(rounds), agents, agents))
    for matrix, links in zip(mixing, rounds, strict=True):
        for first, second, weight in links:
            matrix[int(first), int(second)] = matrix[int(second), int(first)] = weight
        np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
    return mixing


def _describe_attack(attack: Attack) -> dict[str, Any]:
    return {
        "attackers": np.flatnonzero(attack.attackers).tolist(),
        "attack_factor": attack.factor.item(),
        "attack_noise": attack.noise.item(),
    }


def _read_attack(facts: Mapping[str, Any]) -> Attack | None:
    if not facts["attackers"]:
        return None
    return Attack(
        attackers=np.isin(np.arange(facts["num_agents"]), facts["attackers"]),
        factor=np.asarray(facts["attack_factor"], float),
        noise=np.asarray(facts["attack_noise"], float),
    )
