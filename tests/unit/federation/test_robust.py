"""Robust averages: what they promise of honest agents, against oracles, and what they need."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fmarl.errors import BadInput
from fmarl.federation.aggregation import aggregate_rows
from fmarl.federation.make_method import make_method
from fmarl.federation.method_theory import plan_of
from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.federation.robust import CLIPPINGS, COMBINE, centred_clip, krum, median, trimmed
from oracles.robust import slow_centred_clip, slow_krum, slow_median, slow_trimmed
from oracles.slots import simulate_late_slots
from unit.federation.toy_learner import rows_of, run

numbers = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False, width=32)
small = st.floats(-100, 100, allow_subnormal=False, width=32)
TRIMMED = jax.jit(trimmed, static_argnums=1)
MEDIAN = jax.jit(median)
KRUM = jax.jit(krum, static_argnums=1)
CLIP = jax.jit(centred_clip)


def _rows(seed: int, agents: int = 7, parameters: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(agents, parameters)).astype(np.float32)


@st.composite
def honest_and_liars(draw):
    """Rows of 5 to 8 agents, some of which say anything finite; and how many these are."""
    agents = draw(st.integers(5, 8))
    liars = draw(st.integers(0, (agents - 1) // 2))
    honest = draw(arrays(np.float32, (agents - liars, 3), elements=small))
    lies = draw(arrays(np.float32, (liars, 3), elements=numbers))
    order = draw(st.permutations(range(agents)))
    return honest, np.concatenate([honest, lies])[np.array(order)], liars


@given(honest_and_liars())
def test_the_median_stays_within_the_hull_of_the_honest(case):
    honest, rows, _ = case
    found = np.asarray(MEDIAN(rows))
    assert (honest.min(axis=0) <= found).all()
    assert (found <= honest.max(axis=0)).all()


@given(honest_and_liars())
def test_the_trimmed_mean_stays_within_the_hull_of_the_honest(case):
    honest, rows, liars = case
    found = np.asarray(TRIMMED(rows, liars))
    assert (honest.min(axis=0) <= found).all()
    assert (found <= honest.max(axis=0)).all()


def test_one_liar_more_than_tolerated_drags_the_trimmed_mean_out_of_the_hull():
    rows = np.concatenate([_rows(0, agents=5), np.full((2, 4), 1e6, np.float32)])
    assert (np.asarray(TRIMMED(rows, 1)) > rows[:5].max(axis=0)).all()
    assert (np.asarray(TRIMMED(rows, 2)) <= rows[:5].max(axis=0)).all()


@given(rows=arrays(np.float32, (7, 3), elements=small))
def test_krum_returns_one_of_the_rows(rows):
    found = np.asarray(KRUM(rows, 2))
    assert any(np.array_equal(found, row) for row in rows)


@given(seed=st.integers(0, 1000), size=st.floats(50, 1e30))
def test_krum_takes_an_honest_row_where_the_honest_stand_together(seed, size):
    rng = np.random.default_rng(seed)
    honest, lies = rng.normal(size=(5, 4)), size * (1 + rng.random((2, 4)))
    order = rng.permutation(7)
    rows = np.concatenate([honest, lies])[order].astype(np.float32)
    found = np.asarray(KRUM(rows, 2))
    assert any(np.array_equal(found, row) for row in honest.astype(np.float32))


@given(seed=st.integers(0, 1000), size=st.floats(10, 1e30))
def test_centred_clipping_stays_near_the_honest_however_far_the_lies(seed, size):
    """No farther from their median than the farthest of them, for each of three steps."""
    rng = np.random.default_rng(seed)
    honest = rng.normal(size=(5, 4))
    rows = np.concatenate([honest, np.full((2, 4), size)]).astype(np.float32)
    found = np.asarray(CLIP(rows), float)
    farthest = np.linalg.norm(honest[:, None] - honest[None], axis=2).max()
    assert np.linalg.norm(found - honest.mean(axis=0)) <= 2 * farthest


@given(seed=st.integers(0, 1000), agents=st.sampled_from([5, 6, 7]))
def test_the_rules_do_as_their_papers_say(seed, agents):
    rows = _rows(seed, agents)
    wide = rows.astype(float)
    expected = {
        median: slow_median(wide),
        trimmed: slow_trimmed(wide, 2),
        centred_clip: slow_centred_clip(wide, CLIPPINGS),
        krum: rows[slow_krum(wide, 1)],
    }
    for rule, row in expected.items():
        found = jax.jit(rule, static_argnums=1)(rows, 1 if rule is krum else 2)
        np.testing.assert_allclose(found, row, atol=1e-5, err_msg=rule.__name__)


@pytest.mark.parametrize("word", COMBINE)
def test_equal_rows_stay_as_they_are(word):
    rows = np.tile(_rows(3, agents=1), (7, 1))
    assert np.array_equal(COMBINE[word](jnp.asarray(rows), 2), rows[0])


@pytest.mark.parametrize("word", COMBINE)
def test_all_agents_get_the_result_with_the_same_bits_everywhere(word):
    method = make_method(7, aggregate=word, tolerated=1)
    rows, steps = _rows(1, parameters=300), _rows(2, parameters=300)

    @jax.jit
    def inside(method, period, rows, steps):
        moved = rows - 0.3 * steps
        return moved, jax.lax.cond(
            period >= 0, lambda: aggregate_rows(method, period, moved), lambda: moved
        )

    period = jnp.asarray(0, jnp.int32)
    moved, after = inside(method, period, rows, steps)
    alone = jax.jit(aggregate_rows)(method, period, np.asarray(moved))
    assert np.asarray(after).tobytes() == np.asarray(alone).tobytes()
    assert (np.asarray(alone) == np.asarray(alone)[0]).all()


@pytest.mark.parametrize("word", COMBINE)
def test_late_gradients_are_aggregated_as_they_arrive(word):
    """One of seven is shouted down at once: the others find the same."""
    late: dict[str, Any] = {"learning_rate": 0.1, "uplink_delay": 2, "downlink_delay": 1}
    start, noise = np.array([1.5, -0.7]), np.zeros((5, 7, 2))
    expected = simulate_late_slots(make_method(7, **late), start, noise)
    noise[:, 6] = 1e3
    robust = make_method(7, aggregate=word, tolerated=1, **late)
    np.testing.assert_allclose(rows_of(run(robust, start, noise)), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("words", "agents", "line"),
    [
        ({"aggregate": "mode"}, 7, "one of mean, median, trimmed, centred-clip, krum"),
        ({"aggregate": "trimmed", "tolerated": 3}, 6, "7 agents or more"),
        ({"aggregate": "krum", "tolerated": 2}, 6, "7 agents or more"),
        ({"aggregate": "trimmed", "tolerated": -1}, 7, "is not allowed"),
        ({"aggregate": "median", "tolerated": 2}, 7, "trimmed and krum use it"),
        ({"tolerated": 2}, 7, "not used by aggregate mean"),
        ({"aggregate": "median", "missing": "renormalise"}, 7, "leave out hierarchy and renorm"),
        ({"method": "independent", "aggregate": "median"}, 7, "not used by method independent"),
    ],
)
def test_rules_that_can_not_hold_are_refused_in_one_line(words, agents, line):
    with pytest.raises(BadInput, match=line) as problem:
        make_from_config(MethodConfig(**words), agents, periods=3, seed=0)
    assert "\n" not in str(problem.value)


def test_a_robust_rule_over_groups_is_refused():
    with pytest.raises(BadInput, match="one virtual agent for all agents"):
        make_method(4, groups=np.array([0, 0, 1, 1]), aggregate="median")


@pytest.mark.parametrize("words", [{"aggregate": "median"}, {"attack": "scale:1:100"}])
def test_no_bound_covers_robust_rules_or_liars(words):
    method = make_from_config(MethodConfig(**words), 7, periods=3, seed=0)
    with pytest.raises(BadInput, match="has no bound"):
        plan_of(method, 100)
