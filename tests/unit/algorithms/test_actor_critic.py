import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.algorithms.actor_critic import (
    NetworkSpec,
    acting,
    init_actor_critic,
    policy_outputs,
    values,
)
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.normaliser import no_statistics, normalise, seen
from fmarl.rollout.policy import PolicyParameters, forward


def spec(is_discrete: bool = False, activation: str = "tanh") -> NetworkSpec:
    agent = AgentConfig(hidden=(16, 8), activation=activation)
    return NetworkSpec(observation_size=3, num_actions=2, is_discrete=is_discrete, agent=agent)


def test_networks_begin_orthogonal_and_unbiased():
    parameters = init_actor_critic(jax.random.key(0), spec(), initial_log_std=-0.5)
    for network, last_gain in ((parameters.actor, 0.01), (parameters.critic, 1.0)):
        for weights, gain in zip(network.weights, (2**0.5, 2**0.5, last_gain), strict=True):
            narrow = weights.T if weights.shape[0] > weights.shape[1] else weights
            expected = gain**2 * np.eye(len(narrow))
            np.testing.assert_allclose(narrow @ narrow.T, expected, atol=1e-5 * gain)
        assert not any(bias.any() for bias in network.biases)
    assert parameters.log_std.tolist() == [-0.5, -0.5]


def test_actor_and_critic_begin_with_different_weights():
    parameters = init_actor_critic(jax.random.key(0), spec(), 0.0)
    assert not jnp.allclose(parameters.actor.weights[0], parameters.critic.weights[0])


def test_choices_have_no_spread_to_learn_or_to_send():
    parameters = init_actor_critic(jax.random.key(0), spec(is_discrete=True), 0.0)
    assert parameters.log_std.size == 0
    assert acting(spec(is_discrete=True), parameters, None).log_std.tolist() == [0, 0]


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("is_discrete", [False, True])
@pytest.mark.parametrize("normalises", [False, True])
def test_a_worker_intends_what_the_learner_thinks_it_intends(activation, is_discrete, normalises):
    plan = spec(is_discrete, activation)
    parameters = init_actor_critic(jax.random.key(0), plan, initial_log_std=0.3)
    parameters = jax.tree.map(lambda leaf: leaf + 0.1, parameters)
    rows = 4 + 2 * jax.random.normal(jax.random.key(1), (20, 3))
    statistics = seen(no_statistics(3), rows, jnp.ones(20, bool)) if normalises else None

    one_agent = jax.tree.map(
        lambda leaf: np.asarray(leaf)[None], acting(plan, parameters, statistics)
    )
    outputs = forward(PolicyParameters(*one_agent), activation)
    acted = np.concatenate([outputs(row[None]) for row in np.asarray(rows)])

    thought = policy_outputs(plan, parameters, normalise(statistics, rows))
    np.testing.assert_allclose(acted, thought.outputs, rtol=1e-5, atol=1e-6)


def test_values_are_one_number_per_row():
    parameters = init_actor_critic(jax.random.key(0), spec(), 0.0)
    assert values(spec(), parameters.critic, jnp.ones((5, 3))).shape == (5,)
