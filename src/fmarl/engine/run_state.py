"""Everything that a run must remember, as named arrays and plain facts, and back again."""

from typing import Any, NamedTuple

import jax
import numpy as np

from fmarl.federation.ledger import Ledger
from fmarl.federation.update import TrainState
from fmarl.rollout.batch import Snapshot

Arrays = dict[str, np.ndarray]
Pattern = dict[str, tuple[np.dtype, tuple[int | None, ...]]]


class Memory(NamedTuple):
    """A run at rest, between two slots."""

    state: TrainState
    ledger: Ledger
    snapshots: list[Snapshot]
    """Where each world stands."""
    pending: list[dict[str, float]]
    """Measurements of the slots since the last epoch was written down."""
    bad_updates: int
    """Slots in a row in which some agent's step was not finite."""


def to_arrays(memory: Memory) -> tuple[Arrays, dict[str, Any]]:
    """Name every array; what is not an array goes into the facts."""
    arrays = {name: np.asarray(leaf) for name, leaf in _named(memory.state).items()}
    arrays |= {f"ledger.{name}": counts for name, counts in memory.ledger._asdict().items()}
    arrays |= {f"world.{i}.actions": one.actions for i, one in enumerate(memory.snapshots)}
    worlds = [{"epoch": one.epoch, "digest": one.digest} for one in memory.snapshots]
    facts = {"worlds": worlds, "pending": memory.pending, "bad_updates": memory.bad_updates}
    return arrays, facts


def from_arrays(blank: Memory, arrays: Arrays, facts: dict[str, Any]) -> Memory:
    """The run that was at rest, given one that has just begun."""
    leaves = [jax.numpy.asarray(arrays[name]) for name in _named(blank.state)]
    state = jax.tree.unflatten(jax.tree.structure(blank.state), leaves)
    ledger = Ledger(*(arrays[f"ledger.{name}"] for name in Ledger._fields))
    snapshots = [
        Snapshot(one["epoch"], arrays[f"world.{index}.actions"], one["digest"])
        for index, one in enumerate(facts["worlds"])
    ]
    return Memory(state, ledger, snapshots, facts["pending"], facts["bad_updates"])


def pattern(blank: Memory) -> Pattern:
    """Names, dtypes and shapes that a checkpoint of this run must have; epochs differ in length."""
    arrays, _ = to_arrays(blank)
    shapes: Pattern = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    for index in range(len(blank.snapshots)):
        name = f"world.{index}.actions"
        shapes[name] = (arrays[name].dtype, (None, *arrays[name].shape[1:]))
    return shapes


def _named(state: TrainState) -> dict[str, Any]:
    """The leaves of a state by their path, in a fixed order."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(state)
    return {f"state{jax.tree_util.keystr(path)}": leaf for path, leaf in leaves}
