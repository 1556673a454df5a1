"""What one agent remembers of its life: a ring of fixed size, the oldest overwritten first."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fmarl.algorithms.algorithm import Transitions


class Samples(eqx.Module):
    """Transitions without order: all that is needed to learn from actions of long ago."""

    observation: Float[Array, "*row observation"]
    successor: Float[Array, "*row observation"]
    action: Float[Array, "*row action"]
    reward: Float[Array, "*row"]
    terminated: Bool[Array, "*row"]
    """Nothing follows. After a time limit something would, so that is not remembered."""


class Replay(eqx.Module):
    """A ring of transitions; rows from `size` on have not been written yet."""

    rows: Samples
    next_row: Int[Array, ""]
    """Where the next transition goes."""
    size: Int[Array, ""]
    """Transitions remembered."""

    @property
    def capacity(self) -> int:
        return self.rows.reward.shape[-1]


def empty_replay(capacity: int, observation_size: int, action_size: int) -> Replay:
    """Return room for so many transitions."""
    rows = Samples(
        observation=jnp.zeros((capacity, observation_size)),
        successor=jnp.zeros((capacity, observation_size)),
        action=jnp.zeros((capacity, action_size)),
        reward=jnp.zeros(capacity),
        terminated=jnp.zeros(capacity, bool),
    )
    return Replay(rows, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))


def samples_of(transitions: Transitions) -> Samples:
    """Forget the order of a slot; rows in which the agent was absent are still there."""
    return Samples(
        observation=transitions.observation,
        successor=transitions.successor,
        action=transitions.action,
        reward=transitions.reward,
        terminated=transitions.terminated,
    )


def append(replay: Replay, transitions: Transitions) -> Replay:
    """Remember a slot in order, without the rows in which the agent was absent."""
    present, capacity = transitions.present, replay.capacity
    rank = jnp.cumsum(present, dtype=jnp.int32) - 1
    count = rank[-1] + 1
    # Of a slot larger than the ring only the end fits; writing a row twice would have no order.
    kept = present & (rank >= count - capacity)
    row = jnp.where(kept, (replay.next_row + rank) % capacity, capacity)
    rows = jax.tree.map(
        lambda ring, new: ring.at[row].set(new, mode="drop"),  # what is out of range is not kept
        replay.rows,
        samples_of(transitions),
    )
    size = jnp.minimum(replay.size + count, capacity)
    return Replay(rows, (replay.next_row + count) % capacity, size)


def sample(replay: Replay, key: PRNGKeyArray, shape: tuple[int, ...]) -> Samples:
    """Draw with replacement, all remembered transitions being equally likely.

    An empty replay gives rows of zeros.
    """
    row = jax.random.randint(key, shape, 0, jnp.maximum(replay.size, 1))
    return jax.tree.map(lambda ring: ring[row], replay.rows)
