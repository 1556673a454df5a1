"""Toy worlds against three independent calculations: by hand, by differences, by sampling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import wofz

from fmarl.errors import BadInput
from fmarl.worlds.check import check_world
from fmarl.worlds.toy import (
    BUMPY_SMOOTHNESS,
    bumpy_cost,
    bumpy_gradient,
    bumpy_slope,
    bumpy_world,
    expected_gradient,
    quadratic_cost,
    quadratic_gradient,
    quadratic_world,
)

MAKERS = [quadratic_world, bumpy_world]


def rewards(world, actions, seed=0):
    """Rewards for one action of each agent, or for a sequence of them."""
    world.reset(seed)
    return np.stack([world.step(rows[:, None].astype(np.float32)).reward for rows in actions])


@pytest.mark.parametrize("make", MAKERS)
def test_toys_keep_the_promises_of_worlds(make):
    check_world(lambda: make(3, reward_noise=0.5, epoch_steps=30))
    check_world(lambda: make(1, targets=0.5, epoch_steps=1), steps=5, must_vary=False)


def test_rewards_worked_by_hand():
    actions = np.array([[1.0, 3.0]])
    with quadratic_world(2, curvature=4.0, targets=[0.0, 1.0]) as world:
        assert rewards(world, actions).tolist() == [[-2.0, -8.0]]
    with bumpy_world(2, targets=[0.0, 1.0]) as world:
        np.testing.assert_allclose(rewards(world, actions), [[-0.5, -0.8]], rtol=1e-7)


def test_actions_beyond_one_are_not_clipped():
    with quadratic_world(1) as world:
        assert rewards(world, np.array([[10.0]])).tolist() == [[-50.0]]


@pytest.mark.parametrize("make", MAKERS)
def test_noise_has_the_spread_asked_for_and_no_bias(make):
    with make(500, reward_noise=0.3, targets=1.0) as world:
        noise = rewards(world, np.ones((40, 500)))
    assert abs(noise.std() - 0.3) < 4 * 0.3 / np.sqrt(2 * noise.size)
    assert abs(noise.mean()) < 4 * 0.3 / np.sqrt(noise.size)


@given(x=st.floats(-5, 5), curvature=st.floats(0, 10))
def test_slopes_are_the_differences_of_their_costs(x, curvature):
    h = 1e-5
    bumpy = (bumpy_cost(x + h) - bumpy_cost(x - h)) / (2 * h)
    quadratic = (quadratic_cost(x + h, curvature) - quadratic_cost(x - h, curvature)) / (2 * h)
    assert abs(bumpy_slope(x) - bumpy) < 1e-8
    assert abs(quadratic_gradient(x, curvature=curvature) - quadratic) < 1e-7


@given(mean=st.floats(-4, 4), std=st.floats(0.05, 2.0), target=st.floats(-1, 1))
def test_the_bumpy_gradient_has_a_closed_form_by_the_faddeeva_function(mean, std, target):
    # E[1 / (1 + x²)] is a Voigt profile, √(π/2)/std · Re w(z), with z = (x + i) / (std √2).
    z = (mean - target + 1j) / (std * np.sqrt(2))
    slope_of_w = -2 * z * wofz(z) + 2j / np.sqrt(np.pi)
    exact = -np.sqrt(np.pi) / (2 * std**2) * slope_of_w.real
    assert abs(bumpy_gradient(mean, std, target=target) - exact) < 1e-8


def test_the_bumpy_gradient_is_the_difference_of_expected_costs():
    def expected_cost(mean: float) -> float:
        density = lambda z: np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)  # noqa: E731
        return quad(lambda z: bumpy_cost(mean + 0.7 * z) * density(z), -12, 12, epsabs=1e-13)[0]

    difference = (expected_cost(0.9 + 1e-4) - expected_cost(0.9 - 1e-4)) / 2e-4
    assert abs(bumpy_gradient(0.9, 0.7) - difference) < 1e-8


@pytest.mark.parametrize("make", MAKERS)
def test_sampled_policy_gradients_agree_with_the_exact_ones(make):
    """The score estimator −(reward)·z/std, over agents that all hold the same policy."""
    mean, std, target, samples = 0.6, 0.5, 0.2, 100
    z = np.random.default_rng(1).standard_normal((samples, 1000))
    with make(1000, targets=target, reward_noise=0.1) as world:
        estimates = -rewards(world, mean + std * z) * z / std
    exact = {
        quadratic_world: quadratic_gradient(mean, target=target),
        bumpy_world: bumpy_gradient(mean, std, target=target),
    }[make]
    assert abs(estimates.mean() - exact) < 4 * estimates.std() / np.sqrt(estimates.size)
    assert 4 * estimates.std() / np.sqrt(estimates.size) < 0.05 * abs(exact)


def test_quadrature_is_exact_for_polynomials():
    means = np.array([-1.0, 0.0, 2.0])
    np.testing.assert_allclose(
        expected_gradient(lambda x: x**4, means, 0.5),
        means**4 + 6 * means**2 * 0.25 + 3 * 0.0625,
        rtol=1e-12,
    )


@given(x=st.floats(-5, 5), y=st.floats(-5, 5), std=st.floats(0, 2))
def test_no_bumpy_gradient_changes_faster_than_its_smoothness(x, y, std):
    change = abs(bumpy_gradient(x, std) - bumpy_gradient(y, std))
    assert change <= BUMPY_SMOOTHNESS * abs(x - y) + 1e-8


def test_the_smoothness_is_reached():
    assert bumpy_gradient(1e-4, 0.0) / 1e-4 > BUMPY_SMOOTHNESS * (1 - 1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"num_agents": 0},
        {"num_agents": 2, "epoch_steps": 0},
        {"num_agents": 2, "targets": [1.0]},
        {"num_agents": 2, "targets": [1.0, np.nan]},
        {"num_agents": 2, "targets": np.inf},
        {"num_agents": 2, "reward_noise": -1.0},
        {"num_agents": 2, "curvature": -1.0},
        {"num_agents": 2, "curvature": np.nan},
    ],
)
def test_nonsense_is_refused_in_one_line(options):
    with pytest.raises(BadInput, match="not allowed") as refused:
        quadratic_world(**options)
    assert "\n" not in str(refused.value)


def test_numbers_too_large_and_seeds_too_small_are_refused():
    with quadratic_world(2) as world:
        with pytest.raises(BadInput, match="seed = -1"):
            world.reset(-1)
        world.reset(0)
        with pytest.raises(BadInput, match="action of agent 1 = -1e\\+07"):
            world.step(np.array([[0.0], [-1e7]], dtype=np.float32))
        world.step(np.full((2, 1), 1e6, dtype=np.float32))


@pytest.mark.parametrize("std", [-0.1, 2.1, np.nan])
def test_policies_that_the_quadrature_can_not_handle_are_refused(std):
    with pytest.raises(BadInput, match="std = "):
        bumpy_gradient(0.0, std)
