"""A period without some agents is the same method with τ_i = 0 and without their links."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fmarl.errors import BadInput
from fmarl.federation.ledger import after_slot, empty_ledger
from fmarl.federation.make_method import make_method
from fmarl.federation.method import Method
from fmarl.federation.missing_agents import cut_links, without
from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.topology import constant_weights, ring
from oracles.slots import simulate_slots
from unit.federation.toy_learner import rows_of, run

START = np.array([1.5, -0.7])


cases = st.tuples(st.integers(2, 8), st.integers(1, 3), st.integers(0, 10_000))


def _case(agents: int, num_rounds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random symmetric rounds on a random graph, connected or not, and who is away (not all)."""
    rng = np.random.default_rng(seed)
    links = np.tril(rng.random((agents, agents)) < rng.random(), k=-1)
    weights = links * rng.uniform(0, 1 / agents, (num_rounds, agents, agents))
    weights = weights + weights.transpose(0, 2, 1)
    places = np.arange(agents)
    weights[:, places, places] = 1 - weights.sum(axis=2)
    away = rng.random(agents) < rng.random()
    away[rng.integers(agents)] = False
    return weights, away


@given(cases)
def test_links_cut_on_both_sides_leave_mixing_that_keeps_the_mean(case):
    rounds, away = _case(*case)
    cut = cut_links(rounds, away)

    assert np.array_equal(cut, cut.transpose(0, 2, 1))
    for axis in (1, 2):
        np.testing.assert_allclose(cut.sum(axis=axis), 1, rtol=0, atol=1e-12)
    found = np.random.default_rng(0).normal(size=(rounds.shape[1], 3))
    mixed = found
    for weights in cut:
        mixed = weights @ mixed
    here = ~away
    np.testing.assert_allclose(mixed[here].mean(axis=0), found[here].mean(axis=0), atol=1e-12)
    assert np.array_equal(mixed[away], found[away])


@given(cases)
def test_links_between_those_who_are_there_keep_their_weights(case):
    rounds, away = _case(*case)
    cut = cut_links(rounds, away)
    between = ~away[:, None] & ~away[None] & ~np.eye(len(away), dtype=bool)
    assert np.array_equal(cut[:, between], rounds[:, between])


def _method(**parts) -> Method:
    return make_method(
        5, learning_rate=0.1, sync_period=3, mixing=constant_weights(ring(5), 0.2, 2), **parts
    )


@given(away=st.sets(st.integers(0, 4), min_size=1, max_size=4))
@settings(max_examples=10)
def test_an_absence_is_a_schedule_with_zeros_and_a_graph_without_the_links(away):
    noise = np.random.default_rng(1).normal(size=(6, 5, 2))
    method = without(_method(), away)
    assert (method.local_updates[:, sorted(away)] == 0).all()
    rows = rows_of(run(method, START, noise))
    np.testing.assert_allclose(rows, simulate_slots(method, START, noise), atol=1e-5)
    assert np.array_equal(rows[1, sorted(away)], np.tile(START, (len(away), 1)).astype(np.float32))


def test_nothing_is_compiled_anew():
    for method in (_method(), make_method(5)):
        changed = without(method, [1, 3])
        facts = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(method)]
        assert [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(changed)] == facts
        assert jax.tree.structure(changed) == jax.tree.structure(method)


def test_without_nobody_is_the_method_itself():
    method = _method()
    assert without(method, ()) is method


def test_one_who_is_away_counts_as_a_step_of_zero_unless_renormalised():
    assert (without(_method(), [2]).counted == 1).all()
    left_out = without(_method(renormalise=True), [2])
    assert left_out.counted.tolist() == [[1, 1, 0, 1, 1]]


def test_one_who_is_away_sends_nothing():
    ledger = empty_ledger(5)
    for count in range(3):
        ledger = after_slot(ledger, without(_method(), [2]), count)
    assert ledger.updates.tolist() == [3, 3, 0, 3, 3]
    assert ledger.exchanges[2] == ledger.mixings[2] == 0
    assert ledger.exchanges[0] == 3 * 2 * 2
    assert ledger.exchanges[1] == 3 * 2


def test_those_who_are_left_may_all_be_idle():
    config = MethodConfig(participation=0.2, sync_period=2)
    method = make_from_config(config, num_agents=5, periods=20, seed=0)
    alone = int(np.argmax(method.local_updates[0]))
    assert (without(method, [alone]).local_updates[0] == 0).all()


@pytest.mark.parametrize(
    ("away", "line"), [(range(5), "without any of its 5"), ([5], "from 0 to 4"), ([-1], "0 to 4")]
)
def test_absences_that_can_not_be_are_refused(away, line):
    with pytest.raises(BadInput, match=line):
        without(_method(), away)
