"""What one agent is: its parameters and its memory; and how it takes in an average."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.engine.compiled import Program
from fmarl.federation.update import TrainState, stacked, unstacked

Arrays = dict[str, np.ndarray]
SHARED = "shared"
"""What is averaged of an agent's memory beside its parameters, as one row."""


class Self(NamedTuple):
    """One agent at rest, in NumPy."""

    row: np.ndarray
    memory: Any


class Packed(NamedTuple):
    """An agent between two processes: nothing but arrays.

    Equinox remembers every record that was unpickled for as long as the process lives.
    """

    row: np.ndarray
    leaves: list[np.ndarray]


def packed(own: Self) -> Packed:
    """An agent to be sent."""
    row, memory = jax.device_get((own.row, own.memory))
    return Packed(row, jax.tree.leaves(memory))


def unpacked(sent: Packed, structure: Any) -> Self:
    """An agent that was sent; the structure is that of everybody's memory."""
    return Self(sent.row, jax.tree.unflatten(structure, sent.leaves))


def selves_of(state: TrainState) -> list[Self]:
    """All agents of a run, each for itself."""
    parts = jax.device_get((state.parameters, state.memory))
    return [Self(*own) for own in unstacked(parts, len(state.parameters))]


def state_of(selves: Sequence[Self], update_count: int, mail: Any) -> TrainState:
    """The run that its agents are together."""
    rows, memory = stacked([tuple(own) for own in selves])
    return TrainState(jnp.asarray(rows), memory, jnp.asarray(update_count, jnp.int32), mail)


def shared_row(program: Program, memory: Any) -> np.ndarray | None:
    """What an agent's memory has to be averaged; None if nothing is."""
    rows = program.stages.shared(_alone(memory))
    return None if rows is None else np.asarray(rows[0])


def taken_in(program: Program, own: Self, average: Arrays | None) -> Self:
    """An agent after an average; itself if there was none."""
    if average is None:
        return own
    memory = own.memory
    if SHARED in average:
        adopted = program.stages.adopt(_alone(memory), jnp.asarray(average[SHARED])[None])
        memory = jax.device_get(jax.tree.map(lambda leaf: leaf[0], adopted))
    return Self(average["parameters"], memory)


def _alone(memory: Any) -> Any:
    """A memory as that of all agents of which there is one."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], memory)
