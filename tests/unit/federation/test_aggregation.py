"""What the virtual agent makes of rows: groups, counts, bits that do not depend on the place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.errors import BadInput
from fmarl.federation.aggregation import aggregate_rows, aggregate_tree
from fmarl.federation.make_method import make_method
from fmarl.federation.method import Method
from oracles.slots import average_groups

AGENTS = 7
AGGREGATE = jax.jit(aggregate_rows)


def _rows(seed: int = 0, agents: int = AGENTS, parameters: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(agents, parameters)).astype(np.float32)


def _aggregate(method: Method, rows: np.ndarray, period: int = 0) -> np.ndarray:
    return np.asarray(AGGREGATE(method, jnp.asarray(period, jnp.int32), rows))


def _same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes()


@given(
    groups=st.lists(st.integers(0, AGENTS - 1), min_size=AGENTS, max_size=AGENTS),
    counted=st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=AGENTS, max_size=AGENTS),
    seed=st.integers(0, 1000),
)
def test_every_group_averages_its_own_as_the_slow_oracle_does(groups, counted, seed):
    method = make_method(AGENTS, groups=np.array(groups), counted=np.array(counted))
    rows = _rows(seed)
    expected = average_groups(method, 0, rows.astype(float))
    np.testing.assert_allclose(_aggregate(method, rows), expected, atol=1e-6)


def test_groups_and_counts_each_have_a_cycle_of_their_own():
    pairs, everybody = [0, 0, 1, 1], [0, 0, 0, 0]
    method = make_method(
        4,
        groups=np.array([pairs, everybody]),
        counted=np.array([[1, 1, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]], float),
    )
    rows = _rows(agents=4)
    for period in range(7):
        expected = average_groups(method, period, rows.astype(float))
        np.testing.assert_allclose(_aggregate(method, rows, period), expected, atol=1e-6)


@given(seed=st.integers(0, 1000), agents=st.sampled_from([3, 7, 13]))
def test_equal_rows_average_to_the_same_bits(seed, agents):
    rows = np.tile(_rows(seed, agents=1, parameters=50), (agents, 1))
    rows[:, :2] = [0.0, -0.0]
    assert _same_bits(_aggregate(make_method(agents), rows), rows)


def test_an_agent_alone_in_its_group_keeps_its_bits():
    rows = _rows()
    rows[3, 0] = -0.0
    method = make_method(AGENTS, groups=np.array([0, 0, 0, 3, 0, 6, 6]))
    assert _same_bits(_aggregate(method, rows)[3], rows[3])
    alone = make_method(AGENTS, groups=np.arange(AGENTS))
    assert _same_bits(_aggregate(alone, rows), rows)


def test_a_group_in_which_nobody_counts_stays_as_it_is():
    rows = _rows()
    method = make_method(
        AGENTS,
        groups=np.array([0, 0, 0, 1, 1, 1, 1]),
        counted=np.array([0, 0, 0, 1, 1, 0, 1.0]),
    )
    after = _aggregate(method, rows)
    assert _same_bits(after[:3], rows[:3])
    assert (after[3:] == after[3]).all()


def test_what_does_not_count_is_not_looked_at():
    rows = _rows()
    rows[2] = np.nan
    method = make_method(AGENTS, counted=np.array([1, 1, 0, 1, 1, 1, 1.0]))
    others = np.delete(rows, 2, axis=0).astype(float).mean(axis=0)
    np.testing.assert_allclose(_aggregate(method, rows), np.tile(others, (AGENTS, 1)), atol=1e-6)


def test_sums_run_in_agent_order():
    """1e8 and 1 can not be added in float32: only the order decides what is left."""
    rows = np.array([[0.0], [1e8], [1.0], [-1e8], [1.0]], np.float32)
    in_order = ((((0 + np.float32(1e8)) + 1) - np.float32(1e8)) + 1) / 5
    assert in_order == 0.2
    assert (_aggregate(make_method(5), rows) == np.float32(in_order)).all()


def test_the_bits_are_the_same_alone_and_inside_another_program():
    rows, method = _rows(parameters=400), make_method(AGENTS)

    @jax.jit
    def inside(method, period, rows, steps):
        moved = rows - 0.3 * steps
        after = jax.lax.cond(
            period >= 0, lambda: aggregate_rows(method, period, moved), lambda: moved
        )
        return moved, after

    period = jnp.asarray(3, jnp.int32)
    moved, after = inside(method, period, rows, _rows(1, parameters=400))
    assert _same_bits(np.asarray(after), _aggregate(method, np.asarray(moved), 3))


def test_trees_are_averaged_as_their_rows_are():
    rows, method = _rows(parameters=6), make_method(AGENTS)
    tree = {"a": jnp.asarray(rows[:, :2]), "b": jnp.asarray(rows[:, 2:].reshape(AGENTS, 2, 2))}
    after = jax.jit(aggregate_tree)(method, jnp.asarray(0, jnp.int32), tree)
    expected = _aggregate(method, rows)
    assert _same_bits(np.asarray(after["a"]), expected[:, :2])
    assert _same_bits(np.asarray(after["b"]).reshape(AGENTS, 4), expected[:, 2:])


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ({"groups": np.array([0, 1, 3])}, "numbers from 0 to 2"),
        ({"groups": np.array([0, -1, 0])}, "numbers from 0 to 2"),
        ({"counted": np.array([1.0, -1.0, 1.0])}, "finite weights of 0 or more"),
        ({"counted": np.array([1.0, np.nan, 1.0])}, "finite weights of 0 or more"),
    ],
)
def test_groups_and_counts_that_can_not_be_are_refused(parts, line):
    with pytest.raises(BadInput, match=line):
        make_method(3, **parts)
