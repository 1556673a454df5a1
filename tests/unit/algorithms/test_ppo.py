from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fmarl.algorithms.actor_critic import NetworkSpec, policy_outputs, values
from fmarl.algorithms.advantage import normalised, weighted_mean
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Algorithm
from fmarl.algorithms.normaliser import normalise, seen
from fmarl.algorithms.on_policy import OnPolicyMemory
from fmarl.algorithms.on_policy_batch import make_experience, minibatch, minibatch_rows
from fmarl.algorithms.optimisers import optimiser
from fmarl.algorithms.ppo import PPOConfig, PPOSetup, clipped_loss, make_ppo, ppo_gradient, ppo_loss
from fmarl.errors import BadInput
from unit.algorithms.slots import NUM_ROWS, OBSERVATION_SIZE, begun, random_slot

RATE, KEY = jnp.float32(0.01), jax.random.key(5)
EVERYBODY = jnp.ones(NUM_ROWS, bool)


def ppo(is_discrete: bool = False, optimiser: str = "sgd", **settings: Any) -> Algorithm:
    agent = AgentConfig(hidden=(8, 8), optimiser=optimiser)
    return make_ppo(
        PPOConfig(**settings),
        agent,
        observation_size=OBSERVATION_SIZE,
        num_actions=2,
        is_discrete=is_discrete,
    )


def setup_of(algorithm_config: PPOConfig, is_discrete: bool = False) -> PPOSetup:
    spec = NetworkSpec(
        observation_size=OBSERVATION_SIZE,
        num_actions=2,
        is_discrete=is_discrete,
        agent=AgentConfig(hidden=(8, 8)),
    )
    return PPOSetup(algorithm_config, spec, optimiser("sgd"))


@pytest.fixture(scope="module", params=[False, True], ids=["gaussian", "categorical"])
def once(request):
    """One pass of plain SGD, compiled, with where it begins and what it learns from."""
    algorithm = ppo(request.param, passes=1)
    slot = random_slot(is_discrete=request.param, present=0.8)
    start = begun(algorithm)
    results = jax.jit(algorithm.local_update)(*start, slot, KEY, RATE)
    return algorithm, start, slot, results


def test_one_pass_of_sgd_hands_over_exactly_the_gradient(once):
    algorithm, start, slot, (step, _, metrics) = once
    gradient = jax.jit(algorithm.gradient)(*start, slot, KEY)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, step, gradient))
    assert metrics["gradient_norm"] == pytest.approx(float(optax.tree.norm(gradient)))


def test_the_first_pass_begins_with_the_policy_that_acted(once):
    _, _, _, (_, _, metrics) = once
    assert abs(metrics["approx_kl"]) < 1e-7
    assert metrics["clip_fraction"] == 0


def test_numbers_worth_plotting_are_there(once):
    _, (parameters, _), _, (_, _, metrics) = once
    names = {"policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction"}
    names |= {"explained_variance", "gradient_norm"}
    spread = {"std"} if parameters.log_std.size else set()
    assert set(metrics) == names | spread
    assert all(np.isfinite(number) for number in metrics.values())


@pytest.mark.parametrize("is_discrete", [False, True])
def test_at_the_start_the_clipped_gradient_is_that_of_an_advantage_actor_critic(is_discrete):
    setup = setup_of(PPOConfig(entropy_weight=0.1, value_weight=0.3), is_discrete)
    spec, slot = setup.spec, random_slot(3, is_discrete=is_discrete, present=0.7)
    parameters, _ = begun(ppo(is_discrete))
    experience = make_experience(spec, parameters, None, slot, 1.0)

    def actor_critic_loss(place):
        intended = policy_outputs(spec, place, slot.observation)
        log_probability = spec.distribution.log_probability(intended, slot.action)
        advantage = normalised(experience.advantage, experience.weight)
        error = values(spec, place.critic, slot.observation) - experience.value_target
        bonus = spec.distribution.entropy(intended)
        rows = -advantage * log_probability + 0.3 * error**2 - 0.1 * bonus
        return weighted_mean(rows, experience.weight)

    expected = jax.jit(jax.grad(actor_critic_loss))(parameters)
    ours, _ = jax.jit(partial(ppo_gradient, setup))(parameters, experience)
    difference = jax.tree.map(jnp.subtract, ours, expected)
    assert optax.tree.norm(difference) < 1e-6 * optax.tree.norm(expected)


def test_the_loss_weighs_policy_critic_and_entropy():
    setup = setup_of(PPOConfig(entropy_weight=0.1, value_weight=0.3))
    parameters, _ = begun(ppo())
    experience = make_experience(setup.spec, parameters, None, random_slot(1), 1.0)
    loss, parts = ppo_loss(setup, parameters, experience)
    expected = parts["policy_loss"] + 0.3 * parts["value_loss"] - 0.1 * parts["entropy"]
    assert loss == pytest.approx(float(expected))
    assert min(parts["value_loss"], parts["entropy"]) > 0.1


def test_nothing_is_gained_beyond_the_clip_range():
    """Four rows, likelier or less likely than when acted, and better or worse than expected."""
    setup = setup_of(PPOConfig(normalise_advantages=False))
    parameters, _ = begun(ppo())
    slot = jax.tree.map(lambda column: column[:4], random_slot(1))
    experience = make_experience(setup.spec, parameters, None, slot, 1.0)
    ratio = jnp.array([1.5, 1.5, 0.5, 0.5])
    experience = eqx.tree_at(
        lambda rows: (rows.log_probability, rows.advantage),
        experience,
        (experience.log_probability - jnp.log(ratio), jnp.array([1.0, -1.0, 1.0, -1.0])),
    )
    intended = policy_outputs(setup.spec, parameters, experience.observation)
    loss, metrics = clipped_loss(setup, intended, experience)
    np.testing.assert_allclose(loss, -(1.2 - 1.5 + 0.5 - 0.8) / 4, rtol=1e-5)
    assert metrics["clip_fraction"] == 1


@pytest.fixture(scope="module")
def in_parts():
    """Two passes of Adam over three minibatches, compiled."""
    return jax.jit(ppo(optimiser="adam", passes=2, minibatches=3).local_update)


def test_minibatches_are_shuffled_by_the_key(in_parts):
    start, slot = begun(ppo(optimiser="adam")), random_slot()
    steps = [in_parts(*start, slot, jax.random.key(seed), RATE)[0] for seed in (1, 1, 2)]
    same, other = (jax.tree.map(jnp.array_equal, steps[0], step) for step in steps[1:])
    assert jax.tree.all(same) and not jax.tree.all(other)


def test_every_pass_takes_each_row_once():
    rows = minibatch_rows(KEY, num_rows=10, passes=3, minibatches=4)
    assert rows is not None and rows.shape == (12, 3)
    passes = rows.reshape(3, 12)
    assert jnp.sort(passes, axis=1).tolist() == [[*range(10), 10, 10]] * 3
    assert len({tuple(order) for order in passes.tolist()}) == 3
    assert minibatch_rows(KEY, num_rows=10, passes=3, minibatches=1) is None


def test_a_number_past_the_end_is_a_row_that_weighs_nothing():
    slot = random_slot()
    parameters, _ = begun(ppo())
    experience = make_experience(setup_of(PPOConfig()).spec, parameters, None, slot, 1.0)
    picked = minibatch(experience, jnp.array([3, NUM_ROWS, 1]))
    assert picked.weight.tolist() == [1, 0, 1]
    assert picked.advantage.tolist() == [experience.advantage[3], 0, experience.advantage[1]]
    assert picked.action[1].tolist() == [0, 0]


def test_an_agent_that_was_never_there_stands_still(in_parts):
    """Even where its optimiser has momentum."""
    parameters, memory = begun(ppo(optimiser="adam"))
    _, memory, _ = in_parts(parameters, memory, random_slot(), KEY, RATE)
    step, after, metrics = in_parts(parameters, memory, random_slot(present=False), KEY, RATE)
    assert not any(leaf.any() for leaf in jax.tree.leaves(step))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, memory, after))
    assert all(np.isfinite(number) for number in metrics.values())


def test_the_gradient_of_an_absent_agent_is_zero():
    algorithm = ppo()
    gradient = jax.jit(algorithm.gradient)(*begun(algorithm), random_slot(present=False), KEY)
    assert not any(leaf.any() for leaf in jax.tree.leaves(gradient))


def test_a_slot_is_learned_from_with_the_statistics_it_was_acted_with():
    plain, normalising = ppo(passes=1), ppo(passes=1, normalise_observations=True)
    parameters, memory = begun(normalising)
    memory = eqx.tree_at(
        lambda own: own.statistics,
        memory,
        seen(memory.statistics, 5 * random_slot(8).observation, EVERYBODY),
    )
    slot = eqx.tree_at(lambda own: own.observation, random_slot(), 5 * random_slot(9).observation)
    inside = eqx.tree_at(
        lambda own: (own.observation, own.successor),
        slot,
        tuple(normalise(memory.statistics, rows) for rows in (slot.observation, slot.successor)),
    )
    step, after, metrics = jax.jit(normalising.local_update)(parameters, memory, slot, KEY, RATE)
    expected = jax.jit(plain.gradient)(parameters, begun(plain)[1], inside, KEY)
    difference = jax.tree.map(jnp.subtract, step, expected)
    assert optax.tree.norm(difference) < 1e-6 * optax.tree.norm(expected)
    assert abs(metrics["approx_kl"]) < 1e-7
    assert after.statistics.count == 2 * NUM_ROWS


def test_agents_that_normalise_pool_what_they_saw_when_they_meet():
    algorithm = ppo(optimiser="adam", normalise_observations=True)
    _, memory = algorithm.init(KEY)
    rows = [random_slot(seed).observation for seed in range(2)]
    alone = [
        OnPolicyMemory(memory.optimiser, seen(memory.statistics, own, EVERYBODY)) for own in rows
    ]
    both = jax.tree.map(lambda *leaves: jnp.stack(leaves), *alone)
    average = lambda tree: jax.tree.map(  # noqa: E731
        lambda leaf: jnp.broadcast_to(leaf.mean(axis=0, keepdims=True), leaf.shape), tree
    )
    met = algorithm.merge_memory(both, average)
    everything = np.concatenate(rows)
    np.testing.assert_allclose(met.statistics.mean, [everything.mean(axis=0)] * 2, rtol=1e-4)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, met.optimiser, both.optimiser))


def test_agents_that_do_not_normalise_share_nothing_of_their_memory():
    algorithm = ppo(optimiser="adam")
    _, memory = algorithm.init(KEY)
    assert algorithm.merge_memory(memory, lambda tree: pytest.fail("nothing to average")) is memory


@pytest.mark.parametrize(
    "settings",
    [
        {"clip_range": 0.0},
        {"clip_range": float("nan")},
        {"value_weight": -1.0},
        {"entropy_weight": float("inf")},
        {"passes": 0},
        {"minibatches": 0},
        {"gae_lambda": 1.5},
        {"clip_value_loss": -0.1},
        {"initial_log_std": 100.0},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused_by_name(settings):
    (name,) = settings
    with pytest.raises(BadInput, match=rf"^{name} = .* is not allowed: .* Use "):
        PPOConfig(**settings)
