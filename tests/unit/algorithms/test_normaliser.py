import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.algorithms.networks import forward, init_network
from fmarl.algorithms.normaliser import (
    SMALLEST_STD,
    Statistics,
    fold,
    no_statistics,
    normalise,
    pooled,
    seen,
    standard_deviation,
)

# Inputs of very different sizes: what normalising is for.
SCALES, SHIFTS = np.array([0.1, 1.0, 30.0]), np.array([5.0, 0.0, -400.0])


def rows_of(agent: int, count: int = 40) -> jax.Array:
    numbers = np.random.default_rng(agent).standard_normal((count, 3))
    return jnp.asarray(numbers * SCALES + SHIFTS + agent, jnp.float32)


def after(*slots: jax.Array) -> Statistics:
    statistics = no_statistics(3)
    for slot in slots:
        statistics = seen(statistics, slot, jnp.ones(len(slot), bool))
    return statistics


def assert_describes(statistics: Statistics, rows: np.ndarray, count: float) -> None:
    assert float(statistics.count) == pytest.approx(count)
    np.testing.assert_allclose(statistics.mean, rows.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(standard_deviation(statistics), rows.std(axis=0), rtol=1e-4)


def test_slot_by_slot_is_all_at_once():
    slots = [rows_of(0, 40), rows_of(1, 7), rows_of(2, 100)]
    assert_describes(after(*slots), np.concatenate(slots), 147)


def test_absent_rows_are_not_seen():
    rows = rows_of(0)
    present = jnp.arange(40) % 3 == 0
    junk = jnp.where(jnp.broadcast_to(present[:, None], (40, 3)), rows, 1e6)
    assert_describes(seen(no_statistics(3), junk, present), np.asarray(rows)[::3], 14)
    nobody = jnp.zeros(40, bool)
    assert jax.tree.all(
        jax.tree.map(jnp.array_equal, after(rows), seen(after(rows), rows_of(1), nobody))
    )


def test_before_anything_was_seen_nothing_changes():
    rows = rows_of(0)
    np.testing.assert_array_equal(normalise(no_statistics(3), rows), rows)
    np.testing.assert_array_equal(normalise(None, rows), rows)


def test_normalised_rows_have_mean_zero_and_deviation_one():
    rows = rows_of(3)
    inside = np.asarray(normalise(after(rows), rows))
    np.testing.assert_allclose(inside.mean(axis=0), np.zeros(3), atol=1e-4)
    np.testing.assert_allclose(inside.std(axis=0), np.ones(3), rtol=1e-4)


def test_an_input_that_never_changed_does_not_explode_when_it_does():
    rows = jnp.ones((40, 3))
    assert normalise(after(rows), rows + 1).tolist()[0] == [1 / np.float32(SMALLEST_STD)] * 3


def test_a_folded_network_does_with_raw_rows_what_it_did_with_normalised_ones():
    network = init_network(jax.random.key(0), (3, 8, 2), output_gain=1.0)
    network = network._replace(biases=(jnp.full(8, 0.3), network.biases[1]))
    rows, statistics = rows_of(0), after(rows_of(0))
    folded = forward(fold(statistics, network), "tanh", rows)
    np.testing.assert_allclose(
        folded, forward(network, "tanh", normalise(statistics, rows)), atol=2e-5
    )
    assert fold(None, network) is network


def stacked(*each: Statistics) -> Statistics:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


def of_agent(together: Statistics, agent: int) -> Statistics:
    return jax.tree.map(lambda leaf: leaf[agent], together)


def mean_of_all(tree):
    return jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf.mean(axis=0, keepdims=True), leaf.shape), tree
    )


def test_pooled_statistics_are_those_of_all_rows_together():
    sizes = (40, 3, 100)
    each = [rows_of(agent, count) for agent, count in enumerate(sizes)]
    together = pooled(stacked(*(after(rows) for rows in each)), mean_of_all)
    for agent in range(3):
        assert_describes(of_agent(together, agent), np.concatenate(each), 143 / 3)


def test_what_was_shared_is_counted_once_at_the_next_meeting():
    first, second = [rows_of(0), rows_of(1, 10)], [rows_of(2, 5), rows_of(3, 60)]
    together = pooled(stacked(*(after(rows) for rows in first)), mean_of_all)
    alone = [
        seen(of_agent(together, agent), rows, jnp.ones(len(rows), bool))
        for agent, rows in enumerate(second)
    ]
    again = pooled(stacked(*alone), mean_of_all)
    assert_describes(of_agent(again, 0), np.concatenate([*first, *second]), 115 / 2)


def test_agents_that_meet_nobody_keep_their_own():
    each = stacked(after(rows_of(0)), after(rows_of(1)), no_statistics(3))
    kept = pooled(each, lambda tree: tree)
    for name in ("count", "mean", "squares"):
        np.testing.assert_allclose(getattr(kept, name), getattr(each, name), rtol=1e-6)
