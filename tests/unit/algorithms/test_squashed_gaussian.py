import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.algorithms.log_std import HIGHEST_LOG_STD, LOWEST_LOG_STD
from fmarl.algorithms.networks import Network, forward
from fmarl.algorithms.squashed_gaussian import Squashed, draw, squashed
from fmarl.algorithms.tsallis import tsallis_entropy
from fmarl.rollout.policy import Policy, PolicyParameters, bind
from fmarl.rollout.policy_check import random_parameters
from fmarl.worlds.world import WorldSpec

POLICIES = [(0.0, 0.0), (1.5, -1.0), (-0.7, 0.8), (0.3, -4.0)]
"""Means and log-stds: wide, narrow, near an edge."""


def policy_of(mean, log_std):
    return Squashed(jnp.array([mean]), jnp.array([log_std]))


def exact_log_density(before, mean, log_std):
    """In float64, with the slope of tanh as 1/cosh²."""
    gaussian = -0.5 * ((before - mean) / np.exp(log_std)) ** 2 - log_std - 0.5 * np.log(2 * np.pi)
    return gaussian + 2 * (np.logaddexp(before, -before) - np.log(2))


@pytest.mark.parametrize(("mean", "log_std"), POLICIES)
def test_densities_of_drawn_actions_are_exact_however_far_out(mean, log_std):
    noise = jnp.array([[-40.0], [-9.0], [-1.0], [0.0], [0.5], [7.0], [40.0]])
    policy = jax.tree.map(lambda number: jnp.broadcast_to(number, (7, 1)), policy_of(mean, log_std))

    action, log_density = draw(policy, noise)

    before = mean + np.exp(np.float64(log_std)) * np.asarray(noise, np.float64)
    np.testing.assert_allclose(action, np.tanh(before), rtol=1e-5)
    expected = exact_log_density(before, mean, log_std)
    np.testing.assert_allclose(log_density, expected, rtol=2e-5, atol=1e-5)


def test_gradients_reach_the_mean_and_the_width_through_action_and_density():
    policy, noise = policy_of(0.3, -0.5), jnp.array([0.8])

    def both(policy):
        action, log_density = draw(policy, noise)
        return action[0] + log_density[0]

    slope = jax.grad(both)(policy)
    step = 1e-3
    for field in ("mean", "log_std"):
        ahead, behind = (
            both(policy._replace(**{field: getattr(policy, field) + way})) for way in (step, -step)
        )
        expected = (float(ahead) - float(behind)) / (2 * step)
        assert getattr(slope, field)[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("index", [1.0, 1.5, 2.0])
def test_the_entropy_by_samples_is_the_integral_over_the_density(index):
    mean, log_std = 0.4, -0.8
    before = np.linspace(mean - 9 * np.exp(log_std), mean + 9 * np.exp(log_std), 20_001)
    gaussian = np.exp(-0.5 * ((before - mean) / np.exp(log_std)) ** 2)
    weight = jnp.asarray(gaussian / gaussian.sum(), jnp.float32)
    log_density = jnp.asarray(exact_log_density(before, mean, log_std), jnp.float32)
    integral = tsallis_entropy(log_density, weight, index)

    noise = jax.random.normal(jax.random.key(0), (200_000, 1))
    policy = jax.tree.map(lambda x: jnp.broadcast_to(x, noise.shape), policy_of(mean, log_std))
    _, drawn = draw(policy, noise)
    sampled = tsallis_entropy(drawn[:, 0], jnp.full(200_000, 1 / 200_000), index)

    assert sampled == pytest.approx(float(integral), abs=0.01)  # 5 sigma


def test_widths_stay_between_their_limits_for_any_output():
    policy = squashed(jnp.array([0.0, 5.0, -1e9, 1e9]))
    np.testing.assert_array_equal(policy.mean, [0, 5])
    np.testing.assert_allclose(policy.log_std, [LOWEST_LOG_STD, HIGHEST_LOG_STD])


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_workers_act_as_the_learner_thinks_they_do(activation):
    spec = WorldSpec(name="any", num_agents=4, observation_size=6, num_actions=2, epoch_steps=1)
    parameters = random_parameters(spec, (32, 32), seed=1, heads=2)
    generator = np.random.default_rng(2)
    observation = generator.standard_normal((4, 6), np.float32)
    noise = generator.standard_normal((4, 2), np.float32)

    found = bind(Policy("squashed", parameters, activation), spec)(observation, noise)

    for agent in range(4):
        expected = _learner_action(parameters, agent, observation, noise, activation)
        # Not closer, for the range of log-stds makes a rounded tanh eleven times as wrong.
        np.testing.assert_allclose(found[agent], expected, atol=4e-6)


def _learner_action(parameters: PolicyParameters, agent, observation, noise, activation):
    weights, biases = (
        tuple(jnp.asarray(layer[agent]) for layer in layers) for layers in parameters[:2]
    )
    made = forward(Network(weights, biases), activation, jnp.asarray(observation[agent]))
    return draw(squashed(made), jnp.asarray(noise[agent]))[0]
