"""Laws of on-policy learning that hold for all slots: random ends, absences and rewards."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fmarl.algorithms.advantage import advantages
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig, make_ppo
from fmarl.algorithms.trpo import TRPOConfig, make_trpo
from unit.algorithms.slots import NUM_ROWS, OBSERVATION_SIZE, begun, random_slot, spoiled

DISCOUNT = 0.9
KEY, RATE = jax.random.key(0), jnp.float32(0.01)
FLAGS = st.lists(st.booleans(), min_size=NUM_ROWS, max_size=NUM_ROWS)
SEEDS = st.integers(0, 2**31)

# Compiled once for all examples; λ is a setting, so each of these is a program of its own.
ESTIMATES = {
    gae_lambda: jax.jit(partial(advantages, discount=DISCOUNT, gae_lambda=gae_lambda))
    for gae_lambda in (0.0, 0.7, 1.0)
}


def slot_with(seed, present, ended, collided):
    """Random rows with these flags; who collides has ended."""
    slot = random_slot(seed % 1000)
    flags = (jnp.array(present), jnp.array(collided) & jnp.array(ended), jnp.array(ended))
    return eqx.tree_at(lambda own: (own.present, own.terminated, own.ended), slot, flags)


def by_definition(slot, values, following, gae_lambda):
    """A_t = Σ_l (γλ)^l δ_{t+l}, as long as the agent's epoch goes on: O(n²), in float64."""
    reward, present = np.asarray(slot.reward, np.float64), np.asarray(slot.present)
    future = np.where(slot.terminated, 0, DISCOUNT * np.asarray(following, np.float64))
    surprise = reward + future - np.asarray(values, np.float64)
    result = np.zeros(NUM_ROWS)
    for begin in np.flatnonzero(present):
        for time in range(begin, NUM_ROWS):
            if not present[time]:
                break
            result[begin] += (DISCOUNT * gae_lambda) ** (time - begin) * surprise[time]
            if slot.ended[time]:
                break
    return result


@given(SEEDS, FLAGS, FLAGS, FLAGS, st.sampled_from(list(ESTIMATES)))
def test_advantages_are_those_of_the_definition(seed, present, ended, collided, gae_lambda):
    slot = slot_with(seed, present, ended, collided)
    values, following = slot.observation[:, 0], slot.successor[:, 0]
    ours = ESTIMATES[gae_lambda](slot, values, following)
    expected = by_definition(slot, values, following, gae_lambda)
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


@given(SEEDS, FLAGS, st.integers(0, NUM_ROWS - 2))
def test_the_past_does_not_learn_from_what_follows_an_end(seed, ended, end):
    ended[end] = True
    slot = slot_with(seed, [True] * NUM_ROWS, ended, [False] * NUM_ROWS)
    other = eqx.tree_at(lambda own: own.reward, slot, slot.reward.at[end + 1 :].add(5.0))
    values, following = slot.observation[:, 0], slot.successor[:, 0]
    one, two = (ESTIMATES[1.0](rows, values, following) for rows in (slot, other))
    assert one[: end + 1].tolist() == two[: end + 1].tolist()
    assert not jnp.array_equal(one, two)


@pytest.fixture(scope="module", params=["ppo", "trpo"])
def learner(request):
    """An algorithm that uses every part of its loss, compiled, and where it begins."""
    agent = AgentConfig(hidden=(8, 8))
    shapes = {"observation_size": OBSERVATION_SIZE, "num_actions": 2, "is_discrete": False}
    all_terms = {"normalise_observations": True, "entropy_weight": 0.1, "clip_value_loss": 0.1}
    algorithm = {
        "ppo": make_ppo(PPOConfig(passes=2, **all_terms), agent, **shapes),
        "trpo": make_trpo(TRPOConfig(normalise_observations=True), agent, **shapes),
    }[request.param]
    return jax.jit(algorithm.local_update), jax.jit(algorithm.gradient), begun(algorithm)


@given(SEEDS, FLAGS)
@settings(max_examples=25)
def test_what_stands_in_absent_rows_changes_nothing(learner, seed, present):
    update, _, start = learner
    slot = slot_with(seed, present, [False] * NUM_ROWS, [False] * NUM_ROWS)
    one, two = (update(*start, rows, KEY, RATE) for rows in (slot, spoiled(slot)))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, one, two))


@given(SEEDS, FLAGS)
@settings(max_examples=25)
def test_absent_rows_at_the_end_are_as_good_as_none(learner, seed, ended):
    _, gradient, start = learner
    half = NUM_ROWS // 2
    present = [time < half for time in range(NUM_ROWS)]
    slot = slot_with(seed, present, ended, [False] * NUM_ROWS)
    shorter = jax.tree.map(lambda column: column[:half], slot)
    one, two = (gradient(*start, rows, KEY) for rows in (slot, shorter))
    difference = jax.tree.map(jnp.subtract, one, two)
    assert optax.tree.norm(difference) < 1e-5 * optax.tree.norm(one)


@given(SEEDS, FLAGS, FLAGS, FLAGS)
@settings(max_examples=25)
def test_every_slot_gives_a_finite_step(learner, seed, present, ended, collided):
    update, _, start = learner
    results = update(*start, slot_with(seed, present, ended, collided), KEY, RATE)
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(results))
