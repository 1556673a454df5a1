from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fmarl.algorithms.algorithm import Transitions
from fmarl.algorithms.replay import append, empty_replay, sample


def slot_of(numbers, present):
    """A slot whose row t tells `numbers[t]` in every field; absent rows are zeros."""
    number = np.where(present, numbers, 0).astype(np.float32)
    return Transitions(
        observation=jnp.asarray(np.stack([number, number], axis=1)),
        successor=jnp.asarray(np.stack([number + 1, -number], axis=1)),
        action=jnp.asarray(number[:, None] / 1000),
        reward=jnp.asarray(3 * number),
        present=jnp.asarray(present),
        terminated=jnp.asarray(number % 2 == 1),
        ended=jnp.ones(len(number), bool),
    )


remember = jax.jit(append)
recall = jax.jit(sample, static_argnums=2)


def rows_in_order(replay):
    """The remembered numbers, oldest first, from each field; all fields must agree."""
    size, capacity = int(replay.size), replay.capacity
    order = (int(replay.next_row) - size + np.arange(size)) % capacity
    rows = jax.tree.map(lambda ring: np.asarray(ring)[order], replay.rows)
    numbers = rows.observation[:, 0]
    np.testing.assert_array_equal(rows.observation[:, 1], numbers)
    np.testing.assert_array_equal(rows.successor, np.stack([numbers + 1, -numbers], axis=1))
    np.testing.assert_allclose(rows.action[:, 0], numbers / 1000, rtol=1e-6)
    np.testing.assert_array_equal(rows.reward, numbers * 3)
    np.testing.assert_array_equal(rows.terminated, numbers % 2 == 1)
    return numbers.tolist()


@given(
    capacity=st.sampled_from([1, 4, 9]),
    presences=st.lists(st.lists(st.booleans(), min_size=6, max_size=6), max_size=6),
)
@settings(max_examples=100)
def test_a_ring_remembers_what_a_list_of_limited_length_would(capacity, presences):
    replay, expected, number = empty_replay(capacity, 2, 1), deque(maxlen=capacity), 0
    for present in presences:
        numbers = list(range(number + 1, number + 7))
        number += 6
        replay = remember(replay, slot_of(numbers, present))
        expected.extend(each for each, there in zip(numbers, present, strict=True) if there)

    assert rows_in_order(replay) == list(expected)


def test_a_time_limit_is_not_remembered_as_an_end():
    slot = slot_of([2, 4, 5], [True] * 3)
    assert slot.ended.all()
    replay = remember(empty_replay(3, 2, 1), slot)
    np.testing.assert_array_equal(replay.rows.terminated, [False, False, True])


def test_every_agent_has_its_own_ring():
    slots = [slot_of([1, 2, 3], [True, False, True]), slot_of([4, 5, 6], [True] * 3)]
    together = jax.tree.map(lambda *rows: jnp.stack(rows), *slots)
    rings = jax.vmap(lambda _: empty_replay(4, 2, 1))(jnp.arange(2))

    rings = jax.jit(jax.vmap(append))(rings, together)

    agents = [jax.tree.map(lambda rows, at=agent: rows[at], rings) for agent in range(2)]
    assert [rows_in_order(ring) for ring in agents] == [[1, 3], [4, 5, 6]]


@pytest.mark.parametrize("stored", [1, 5, 8, 12])
def test_samples_are_uniform_over_what_is_remembered(stored):
    replay = remember(empty_replay(8, 2, 1), slot_of(range(1, stored + 1), [True] * stored))

    drawn = recall(replay, jax.random.key(3), (100, 80))

    assert drawn.observation.shape == (100, 80, 2) and drawn.reward.shape == (100, 80)
    numbers, counts = np.unique(drawn.observation[..., 0], return_counts=True)
    remembered = min(stored, 8)
    np.testing.assert_array_equal(numbers, range(stored - remembered + 1, stored + 1))
    share = 1 / remembered
    five_sigma = 5 * np.sqrt(share * (1 - share) / 8000)
    np.testing.assert_allclose(counts / 8000, share, atol=five_sigma + 1e-9)
    np.testing.assert_array_equal(drawn.reward, 3 * drawn.observation[..., 0])


def test_other_keys_draw_other_samples():
    replay = remember(empty_replay(50, 2, 1), slot_of(range(50), [True] * 50))
    first, again, other = (recall(replay, jax.random.key(key), (20,)) for key in (1, 1, 2))
    assert (first.reward == again.reward).all() and (first.reward != other.reward).any()
