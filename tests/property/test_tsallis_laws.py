"""What holds for Tsallis logarithms, policies and values, whatever the index.

The optimal policy for values Q is π = exp_q(Q/(αq) − ψ), where ψ makes it sum to one (Lee et al.
2019). The actor-critic of continuous worlds only comes near it; for choices it is exact.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fmarl.algorithms.tsallis import q_logarithm, tsallis_entropy
from oracles.tsallis import q_exponential

INDICES = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
densities = st.floats(1e-3, 9.0)  # products stay within the limits of the q-logarithm


def ln(density, index):
    return float(q_logarithm(jnp.log(jnp.float32(density)), index))


@given(density=densities, index=st.sampled_from(INDICES))
def test_the_exponential_undoes_the_logarithm(density, index):
    """To what float32 can tell: ln_5 of all densities below 0.01 is the same number."""
    logarithm = ln(density, index)
    back = q_exponential(jnp.float32(logarithm), index)
    assert ln(back, index) == pytest.approx(logarithm, rel=1e-4, abs=1e-6)
    assert index > 2 or float(back) == pytest.approx(density, rel=1e-3)


@given(density=densities, other=densities, index=st.sampled_from(INDICES))
def test_the_logarithm_of_a_product_is_almost_the_sum(density, other, index):
    """It lacks (q − 1) times the product: why joint and summed logarithms differ."""
    first, second = ln(density, index), ln(other, index)
    expected = first + second + (index - 1) * first * second
    assert ln(density * other, index) == pytest.approx(expected, rel=1e-3, abs=1e-4)


@given(density=densities, low=st.floats(0.1, 4.0), more=st.floats(0.01, 2.0))
def test_the_logarithm_grows_with_the_index_so_the_entropy_shrinks(density, low, more):
    assert ln(density, low) <= ln(density, low + more) + 1e-5


@partial(jax.jit, static_argnums=(1, 2))
def best_policy(values, index, weight):
    """exp_q(Q/(αq) − ψ) in each row, with Q counted from its highest, and ψ by bisection."""
    behind = (values - _per_choice(values.max(axis=-1, keepdims=True), values)) / (weight * index)

    def policy_of(shift):
        return q_exponential(behind - _per_choice(shift, values), index)

    def halve(_, limits):
        low, high = limits
        middle = (low + high) / 2
        too_large = policy_of(middle).sum(axis=-1, keepdims=True) > 1
        return jnp.where(too_large, middle, low), jnp.where(too_large, high, middle)

    # The likeliest choice has a probability of 1 at the first ψ, and its fair share at the second.
    none = jnp.zeros((*values.shape[:-1], 1))
    fair = none - q_logarithm(jnp.log(jnp.float32(1 / values.shape[-1])), index)
    low, high = jax.lax.fori_loop(0, 40, halve, (none, fair))
    return policy_of((low + high) / 2)


def _per_choice(rows, values):
    return jnp.broadcast_to(rows, values.shape)


def worth(policy, values, index, weight):
    """Expected value plus weighted entropy, in float64 and straight from the definition."""
    shares = np.clip(np.asarray(policy, np.float64), 1e-300, 1)
    surprise = -np.log(shares) if index == 1 else -(shares ** (index - 1) - 1) / (index - 1)
    return float(shares @ (np.asarray(values, np.float64) + weight * surprise))


@given(
    values=st.lists(st.floats(-2, 2, width=32), min_size=4, max_size=4),
    index=st.sampled_from(INDICES),
    seed=st.integers(0, 99),
)
def test_no_policy_is_worth_more_than_the_closed_form(values, index, seed):
    policy = best_policy(jnp.asarray(values, jnp.float32), index, 0.5)
    best = worth(policy / policy.sum(), values, index, 0.5)

    found = minimize(
        lambda shares: -worth(shares, values, index, 0.5),
        np.full(4, 0.25),
        bounds=[(1e-9, 1)] * 4,
        constraints={"type": "eq", "fun": lambda shares: shares.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    others = np.random.default_rng(seed).dirichlet(np.ones(4), 50)

    # Near zero exp_5 is a fourth root, which makes much of a little rounding.
    assert float(policy.sum()) == pytest.approx(1, abs=5e-3)
    assert best >= -found.fun - 1e-4
    assert all(best >= worth(other, values, index, 0.5) - 1e-5 for other in others)


def test_index_one_gives_softmax_and_index_two_never_chooses_the_hopeless():
    values = jnp.array([1.0, 0.5, -1.0])
    np.testing.assert_allclose(
        best_policy(values, 1.0, 0.5), jax.nn.softmax(values / 0.5), atol=1e-5
    )
    sparse = best_policy(values, 2.0, 0.5)
    np.testing.assert_allclose(sparse, [0.75, 0.25, 0], atol=1e-5)
    assert sparse[2] == 0


MAP = "S... .H.H ...H H..G".replace(" ", "")
"""Start, ice, holes and goal of a frozen lake, four by four."""
DISCOUNT, ENTROPY_WEIGHT = 0.95, 0.002


def lake():
    """Chances of (state, action, next state), and rewards (state, action); the ice is slippery."""
    chance = np.zeros((16, 4, 16))
    moves = [(0, -1), (1, 0), (0, 1), (-1, 0)]
    for state, place in enumerate(MAP):
        for action in range(4):
            for slip in (-1, 0, 1):
                down, right = moves[(action + slip) % 4] if place not in "HG" else (0, 0)
                row, column = np.clip([state // 4 + down, state % 4 + right], 0, 3)
                chance[state, action, row * 4 + column] += 1 / 3
    alive = np.array([place not in "HG" for place in MAP])
    return chance, chance[:, :, MAP.index("G")] * alive[:, None]


def returns(policy, chance, reward):
    """Discounted rewards from the start, by solving the linear equations exactly."""
    moves, gains = np.einsum("sa,sat->st", policy, chance), (policy * reward).sum(axis=1)
    return np.linalg.solve(np.eye(16) - DISCOUNT * moves, gains)[0]


@partial(jax.jit, static_argnums=2)
def tsallis_policy(chance, reward, index):
    """Tsallis value iteration to its end, then the policy of its values."""

    def judge(values):
        return reward + DISCOUNT * chance @ values

    def sweep(_, values):
        judged = judge(values)
        policy = best_policy(judged, index, ENTROPY_WEIGHT)
        log_policy = jnp.log(jnp.maximum(policy, 1e-30))
        entropy = jax.vmap(partial(tsallis_entropy, entropic_index=index))(log_policy, policy)
        return (policy * judged).sum(axis=1) + ENTROPY_WEIGHT * entropy

    values = jax.lax.fori_loop(0, 300, sweep, jnp.zeros(16))
    return best_policy(judge(values), index, ENTROPY_WEIGHT)


@pytest.mark.parametrize("index", INDICES)
def test_on_a_frozen_lake_entropy_costs_no_more_than_its_bound(index):
    """J* + α ln_q(1/|A|)/(1 − γ) <= J(π_q) <= J*, all exact."""
    chance, reward = lake()
    best = _best_return(chance, reward)
    policy = np.asarray(
        tsallis_policy(jnp.asarray(chance, jnp.float32), jnp.asarray(reward, jnp.float32), index),
        np.float64,
    )
    policy /= policy.sum(axis=1, keepdims=True)

    found = returns(policy, chance, reward)

    loss = ENTROPY_WEIGHT * ln(0.25, index) / (1 - DISCOUNT)
    assert best + loss <= found <= best + 1e-5
    assert best + loss > 5 * returns(np.full((16, 4), 0.25), chance, reward)  # it says something


def _best_return(chance, reward):
    values = np.zeros(16)
    for _ in range(2000):
        values = (reward + DISCOUNT * chance @ values).max(axis=1)
    return values[0]
