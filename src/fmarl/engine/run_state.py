"""Everything that a run must remember, as named arrays and plain facts, and back again.

The names of arrays are on disk: they derive from the fields of `TrainState` and of what is in it.
"""

from typing import Any, NamedTuple

import jax
import numpy as np

from fmarl.federation.ledger import Ledger
from fmarl.federation.update import TrainState
from fmarl.rollout.batch import Snapshot

Arrays = dict[str, np.ndarray]
Pattern = dict[str, tuple[np.dtype, tuple[int | None, ...]]]


class RunState(NamedTuple):
    """A run between two slots."""

    learned: TrainState
    ledger: Ledger
    snapshots: list[Snapshot]
    """Where each world stands."""
    pending: list[dict[str, float]]
    """Measurements of the slots since the last epoch was written down."""
    bad_updates: int
    """Slots in a row in which some agent's step was not finite."""


def to_arrays(run: RunState) -> tuple[Arrays, dict[str, Any]]:
    """Name every array; what is not an array goes into the facts."""
    arrays = {name: np.asarray(leaf) for name, leaf in _named(run.learned).items()}
    arrays |= {f"ledger.{name}": counts for name, counts in run.ledger._asdict().items()}
    arrays |= {f"world.{i}.actions": one.actions for i, one in enumerate(run.snapshots)}
    worlds = [{"epoch": one.epoch, "digest": one.digest} for one in run.snapshots]
    facts = {"worlds": worlds, "pending": run.pending, "bad_updates": run.bad_updates}
    return arrays, facts


def from_arrays(blank: RunState, arrays: Arrays, facts: dict[str, Any]) -> RunState:
    """The run that was at rest, given one that has just begun."""
    leaves = [jax.numpy.asarray(arrays[name]) for name in _named(blank.learned)]
    state = jax.tree.unflatten(jax.tree.structure(blank.learned), leaves)
    ledger = Ledger(*(arrays[f"ledger.{name}"] for name in Ledger._fields))
    snapshots = [
        Snapshot(one["epoch"], arrays[f"world.{index}.actions"], one["digest"])
        for index, one in enumerate(facts["worlds"])
    ]
    return RunState(state, ledger, snapshots, facts["pending"], facts["bad_updates"])


def pattern(blank: RunState) -> Pattern:
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
