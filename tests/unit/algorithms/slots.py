"""Slots and parameters of one agent made of random numbers, for tests of learners."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from fmarl.algorithms.algorithm import Algorithm, Transitions

OBSERVATION_SIZE, NUM_ROWS = 3, 24


def random_slot(
    seed: int = 0, num_actions: int = 2, is_discrete: bool = False, present: object = True
) -> Transitions:
    """Rows with collisions and time limits; `present` is a share of rows, or who was there."""
    generator = np.random.default_rng(seed)
    chance = generator.random(NUM_ROWS)
    if isinstance(present, float):
        present = generator.random(NUM_ROWS) < present
    numbers = generator.standard_normal((NUM_ROWS, num_actions))
    choices = generator.integers(0, num_actions, (NUM_ROWS, 1))
    columns = {
        "observation": generator.standard_normal((NUM_ROWS, OBSERVATION_SIZE)),
        "successor": generator.standard_normal((NUM_ROWS, OBSERVATION_SIZE)),
        "action": choices if is_discrete else numbers,
        "reward": generator.standard_normal(NUM_ROWS),
    }
    return Transitions(
        **{name: jnp.asarray(column, jnp.float32) for name, column in columns.items()},
        present=jnp.broadcast_to(jnp.asarray(present), NUM_ROWS),
        terminated=jnp.asarray(chance < 0.1),
        ended=jnp.asarray((chance < 0.1) | (chance > 0.9)),
    )


def begun(algorithm: Algorithm, seed: int = 0) -> tuple[Any, Any]:
    """Parameters that are far from zero, and a new memory."""
    parameters, memory = algorithm.init(jax.random.key(seed))
    flat, restore = ravel_pytree(parameters)
    return restore(flat + 0.3 * jax.random.normal(jax.random.key(seed + 1), flat.shape)), memory


def spoiled(slot: Transitions) -> Transitions:
    """The same slot with other numbers wherever the agent was absent."""

    def junk(column: jax.Array) -> jax.Array:
        rows = slot.present if column.ndim == 1 else slot.present[:, None]
        return jnp.where(jnp.broadcast_to(rows, column.shape), column, 7.0)

    columns = (slot.observation, slot.successor, slot.reward)
    where = lambda whole: (whole.observation, whole.successor, whole.reward)  # noqa: E731
    return eqx.tree_at(where, slot, tuple(map(junk, columns)))
