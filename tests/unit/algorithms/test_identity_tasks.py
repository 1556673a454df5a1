"""Stable-Baselines3's smallest tasks: do what you see. A learner that fails here is broken.

As there: epochs of 100 steps, about a thousand steps of training, more than 90 of 100 points in
tests without chance.
"""

import jax
import jax.numpy as jnp
import pytest

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Acting, Algorithm, Transitions
from fmarl.algorithms.networks import Network, forward
from fmarl.algorithms.ppo import PPOConfig, make_ppo
from fmarl.algorithms.trpo import TRPOConfig, make_trpo

EPOCH_STEPS, NUM_CHOICES, NEAR = 100, 4, 0.5
"""A number may be off by half; it and what is seen are between −1 and 1."""


def seen(key, is_discrete: bool):
    """What is seen in an epoch: a number, or a choice written as one of several ones."""
    if is_discrete:
        choices = jax.random.randint(key, (EPOCH_STEPS,), 0, NUM_CHOICES)
        return jax.nn.one_hot(choices, NUM_CHOICES)
    return jax.random.uniform(key, (EPOCH_STEPS, 1), minval=-1, maxval=1)


def points(observation, action, is_discrete: bool):
    if is_discrete:
        return (jnp.argmax(observation, axis=1) == action[:, 0].astype(int)).astype(jnp.float32)
    inside = jnp.abs(jnp.clip(action, -1, 1) - observation) <= NEAR
    return inside[:, 0].astype(jnp.float32)


def chosen(acting: Acting, observation, noise, is_discrete: bool):
    intended = forward(Network(acting.weights, acting.biases), "tanh", observation)
    if is_discrete:
        return jnp.argmax(intended + noise, axis=1, keepdims=True).astype(jnp.float32)
    return intended + jnp.exp(acting.log_std)[None] * noise


def epoch(acting: Acting, key, is_discrete: bool) -> Transitions:
    """An epoch of the task; what follows does not depend on what was done."""
    seen_key, noise_key = jax.random.split(key)
    observation = seen(seen_key, is_discrete)
    draw = jax.random.gumbel if is_discrete else jax.random.normal
    action = chosen(acting, observation, draw(noise_key, observation.shape), is_discrete)
    return Transitions(
        observation=observation,
        successor=jnp.roll(observation, -1, axis=0),
        action=action,
        reward=points(observation, action, is_discrete),
        present=jnp.ones(EPOCH_STEPS, bool),
        terminated=jnp.zeros(EPOCH_STEPS, bool),
        ended=jnp.arange(EPOCH_STEPS) == EPOCH_STEPS - 1,
    )


def trained(algorithm: Algorithm, state, is_discrete: bool, epochs: int, rate: float):
    """Play and learn, one update per epoch."""

    def slot(state, key):
        parameters, memory = state
        play_key, learn_key = jax.random.split(key)
        rows = epoch(algorithm.acting(parameters, memory), play_key, is_discrete)
        step, memory, _ = algorithm.local_update(
            parameters, memory, rows, learn_key, jnp.float32(rate)
        )
        return (jax.tree.map(lambda here, way: here - rate * way, parameters, step), memory), None

    keys = jax.random.split(jax.random.key(1), epochs)
    return jax.jit(lambda begin: jax.lax.scan(slot, begin, keys))(state)[0]


def points_in_tests(algorithm: Algorithm, state, is_discrete: bool) -> float:
    """Mean points of 20 epochs without chance."""
    keys = jax.random.split(jax.random.key(2), 20)
    observation = jnp.concatenate([seen(key, is_discrete) for key in keys])
    action = chosen(algorithm.acting(*state), observation, jnp.zeros_like(observation), is_discrete)
    return float(points(observation, action, is_discrete).sum()) / 20


AGENT = AgentConfig(hidden=(32, 32), discount=0.5)
EAGER = PPOConfig(passes=10, minibatches=4)


@pytest.mark.parametrize(
    ("make", "config", "is_discrete", "epochs", "rate"),
    [
        pytest.param(make_ppo, EAGER, False, 10, 3e-3, id="ppo-numbers"),
        pytest.param(make_ppo, EAGER, True, 12, 3e-3, id="ppo-choices"),
        pytest.param(make_trpo, TRPOConfig(), True, 15, 1.0, id="trpo-choices"),
    ],
)
def test_a_learner_learns_to_do_what_it_sees(make, config, is_discrete, epochs, rate):
    size = NUM_CHOICES if is_discrete else 1
    shapes = {"observation_size": size, "num_actions": size, "is_discrete": is_discrete}
    algorithm = make(config, AGENT, **shapes)
    state = algorithm.init(jax.random.key(0))
    assert points_in_tests(algorithm, state, is_discrete) < 70
    state = trained(algorithm, state, is_discrete, epochs, rate)
    assert points_in_tests(algorithm, state, is_discrete) > 90
