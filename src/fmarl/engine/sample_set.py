"""A few slots of a run, kept as they were: what gradient norms are measured on.

The paper measures every method on one fixed sample set, collected uniformly over the run with
τ = 1. Here every run keeps a few of its slots, and any other run can be measured on them.
"""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fmarl.algorithms.algorithm import Transitions
from fmarl.errors import BadInput, require
from fmarl.records.atomic_files import make_folder, read_whole, write_durably
from fmarl.records.run_folder import RunFolder
from fmarl.worlds.world import WorldSpec

NAMES = tuple(Transitions.__dataclass_fields__)
LARGEST_FILE = 1 << 28


def slots_to_keep(total_updates: int, sample_slots: int) -> set[int]:
    """Indices of the slots to keep: the middles of equal parts of the run.

    >>> sorted(slots_to_keep(total_updates=100, sample_slots=4))
    [12, 37, 62, 87]
    """
    parts = min(sample_slots, total_updates)
    return {int((part + 0.5) * total_updates / parts) for part in range(parts)}


def keep_slot(folder: Path, slot: int, transitions: Transitions) -> None:
    """Write a slot's transitions; writing it again after a resume changes nothing."""
    make_folder(RunFolder(folder).samples)
    arrays = {name: np.asarray(getattr(transitions, name)) for name in NAMES}
    write_durably(RunFolder(folder).samples / f"{slot:09}.safetensors", save(arrays))


def read_samples(folder: Path, spec: WorldSpec, agents: int) -> Transitions:
    """The sample set of a run, its slots as first axis; `BadInput` if it is of another world."""
    files = sorted(RunFolder(folder).samples.glob("*.safetensors"))
    require(
        bool(files), f"samples of {folder}", "a run that kept some (sample_slots > 0)", "Name one."
    )
    slots = [_read(path) for path in files]
    shape = slots[0].observation.shape
    fits = shape[1:] == (agents, spec.observation_size)
    fits &= slots[0].action.shape[1:] == (agents, spec.action_size)
    what = f"samples of {shape[1]} agents that see {shape[2]} numbers"
    allowed = f"{agents} agents that see {spec.observation_size}, as in {spec.name}"
    require(fits, what, allowed, "Use a run of the same world.")
    return Transitions(
        **{name: jnp.stack([getattr(slot, name) for slot in slots]) for name in NAMES}
    )


def _read(path: Path) -> Transitions:
    try:
        arrays = load(read_whole(path, LARGEST_FILE))
        return Transitions(**{name: jnp.asarray(arrays[name]) for name in NAMES})
    except (OSError, SafetensorError, KeyError) as error:
        raise BadInput(f"{path} is not a slot of samples: {error}. Make them again.") from None
