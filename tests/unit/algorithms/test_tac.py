"""The Tsallis actor-critic as an `Algorithm`; tests/golden/sac holds what q = 1 must agree with."""

import dataclasses
import itertools
from functools import cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Transitions
from fmarl.algorithms.log_std import log_std_of
from fmarl.algorithms.networks import forward
from fmarl.algorithms.optimisers import optimiser
from fmarl.algorithms.replay import append, sample, samples_of
from fmarl.algorithms.squashed_gaussian import draw, squashed
from fmarl.algorithms.tac import make_tac
from fmarl.algorithms.tac_config import TACConfig
from fmarl.algorithms.tac_losses import Minibatch, gradients, losses
from fmarl.errors import BadInput
from fmarl.rollout.policy import Policy, PolicyParameters
from fmarl.rollout.policy_check import check_policy
from fmarl.worlds.world import WorldSpec
from golden.sac.compare import RECORDS, assert_same_as_sac, read

SEEN, ACTED, STEPS, RATE = 3, 2, 20, 0.01
AGENT = AgentConfig(hidden=(8,))
SMALL = TACConfig(
    entropy_weight=0.05,
    batch_size=16,
    replay_capacity=256,
    updates_per_slot=3,
    target_rate=0.1,
    initial_log_std=-1.0,
)


def make(config=SMALL):
    return make_tac(config, AGENT, observation_size=SEEN, num_actions=ACTED, is_discrete=False)


@cache
def begun():
    """Parameters and memory, the same for all configurations: compiling takes longest here."""
    return make().init(jax.random.key(0))


@cache
def compiled(config=SMALL):
    """Start, update and gradient."""
    algorithm = make(config)
    return *begun(), jax.jit(algorithm.local_update), jax.jit(algorithm.gradient)


def slot_of(seed, present=None, scale=1.0):
    generator = np.random.default_rng(seed)

    def normal(*shape):
        return jnp.asarray(scale * generator.standard_normal((STEPS, *shape)), jnp.float32)

    return Transitions(
        observation=normal(SEEN),
        successor=normal(SEEN),
        action=jnp.tanh(normal(ACTED)),
        reward=normal(),
        present=jnp.asarray([True] * STEPS if present is None else present),
        terminated=jnp.asarray(generator.random(STEPS) < 0.2),
        ended=jnp.asarray(generator.random(STEPS) < 0.4),
    )


def one_batch(slot, key):
    """All rows of a slot, those present weighing the same, with the noise that `gradient` draws."""
    present = np.asarray(slot.present, np.float32)
    noise = jax.random.normal(key, (STEPS, ACTED))
    return Minibatch(samples_of(slot), jnp.asarray(present / present.sum()), noise)


def assert_same(found, expected, **tolerance):
    jax.tree.map(partial(np.testing.assert_allclose, **tolerance), found, expected)


def assert_same_bits(found, expected):
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_at_index_one_losses_and_gradients_are_those_of_soft_actor_critic(path):
    assert_same_as_sac(read(path), 1.0)


def test_near_index_one_they_are_too():
    assert_same_as_sac(read(RECORDS[-1]), 1 + 1e-7)


def test_away_from_index_one_they_are_not():
    with pytest.raises(AssertionError, match="is off by"):
        assert_same_as_sac(read(RECORDS[0]), 1.01)


@partial(jax.jit, static_argnums=0)
def drawn_by_hand(config, replay, slot, key):
    sample_key, noise_key = jax.random.split(key)
    shape = (config.updates_per_slot, config.batch_size)
    samples = sample(append(replay, slot), sample_key, shape)
    weight = jnp.full(shape, 1 / config.batch_size)
    return Minibatch(samples, weight, jax.random.normal(noise_key, (*shape, ACTED)))


def updated_by_hand(config, parameters, memory, batches):
    """One update after another, each on the parameters that the one before left."""
    slope_of, keeps = jax.jit(partial(gradients, config, AGENT)), 1 - config.target_rate
    adam, state = jax.jit(optimiser(AGENT.optimiser).update), memory.optimiser
    target, total = memory.target, jax.tree.map(jnp.zeros_like, parameters)
    for update in range(config.updates_per_slot):
        batch = jax.tree.map(lambda rows, at=update: rows[at], batches)
        direction, state = adam(slope_of(parameters, target, batch)[0], state)
        parameters = jax.tree.map(lambda old, by: old - RATE * by, parameters, direction)
        target = jax.tree.map(
            lambda old, new: keeps * old + (1 - keeps) * new, target, parameters.value
        )
        total = jax.tree.map(jnp.add, total, direction)
    return total, target


def test_all_networks_step_at_once_and_the_target_follows_the_new_value_network():
    parameters, memory, update, _ = compiled()
    slot, key = slot_of(1), jax.random.key(5)

    step, after, _ = update(parameters, memory, slot, key, RATE)

    batches = drawn_by_hand(SMALL, memory.replay, slot, key)
    expected_step, expected_target = updated_by_hand(SMALL, parameters, memory, batches)
    assert_same(step, expected_step, rtol=1e-3, atol=1e-3)
    assert_same(after.target, expected_target, rtol=1e-5, atol=1e-6)


def test_until_a_batch_is_remembered_nothing_but_the_replay_changes():
    few = [True] * 15 + [False] * 5
    parameters, memory, update, _ = compiled()

    step, after, metrics = update(parameters, memory, slot_of(1, few), jax.random.key(5), RATE)

    assert all((array == 0).all() for array in jax.tree.leaves(step))
    assert_same_bits((after.optimiser, after.target), (memory.optimiser, memory.target))
    assert int(after.replay.size) == int(metrics["replay_size"]) == 15
    assert all(metrics[name] == 0 for name in metrics if name != "replay_size")

    one_more = slot_of(2, [True] + [False] * 19)
    step, after, metrics = update(parameters, after, one_more, jax.random.key(6), RATE)

    assert all((array != 0).any() for array in jax.tree.leaves(step))
    assert metrics["replay_size"] == 16 and metrics["gradient_norm"] > 0


def test_absent_rows_count_for_nothing():
    parameters, memory, update, gradient = compiled()
    present = np.arange(STEPS) % 3 > 0
    slot = slot_of(1, present)
    away = jnp.asarray(~present)
    noisy = eqx.tree_at(
        lambda rows: (rows.observation, rows.reward, rows.action),
        slot,
        (
            jnp.where(away[:, None], 7.0, slot.observation),
            jnp.where(away, -9.0, slot.reward),
            jnp.where(away[:, None], 0.5, slot.action),
        ),
    )
    memory = update(parameters, memory, slot_of(2), jax.random.key(0), RATE)[1]
    key = jax.random.key(1)

    assert_same_bits(
        update(parameters, memory, slot, key, RATE), update(parameters, memory, noisy, key, RATE)
    )
    assert_same(
        gradient(parameters, memory, slot, key), gradient(parameters, memory, noisy, key), atol=1e-7
    )


def test_an_agent_that_was_never_there_has_a_gradient_of_zero():
    parameters, memory, _, gradient = compiled()
    found = gradient(parameters, memory, slot_of(1, [False] * STEPS), jax.random.key(1))
    assert all((array == 0).all() for array in jax.tree.leaves(found))


def test_the_gradient_is_that_of_the_mean_loss_over_the_rows_that_are_present():
    parameters, memory, _, gradient = compiled()
    slot, key = slot_of(3, np.arange(STEPS) % 4 > 0), jax.random.key(2)
    batch = one_batch(slot, key)
    flat, unflatten = ravel_pytree(parameters)
    # Critics and value only: the loss as a number also has slopes that are stopped on purpose.
    error = jax.jit(lambda row: losses(SMALL, AGENT, unflatten(row), memory.target, batch)[1])

    found = gradient(parameters, memory, slot, key)

    for name in ("critic_loss", "value_loss"):
        networks = ("value",) if name == "value_loss" else ("first_critic", "second_critic")
        own = jax.tree.map(jnp.zeros_like, found)._replace(
            **{network: getattr(found, network) for network in networks}
        )
        direction = ravel_pytree(own)[0]
        length = jnp.linalg.norm(direction)
        along = direction / length * 1e-2
        slope = (error(flat + along)[name] - error(flat - along)[name]) / 2e-2
        assert float(slope) == pytest.approx(float(length), rel=1e-3)


def test_a_collision_ends_the_future_and_a_time_limit_does_not():
    parameters, memory, _, gradient = compiled()
    slot, key = slot_of(3), jax.random.key(2)
    later = slot.successor + 1

    def critic_gradient(terminated, successor):
        changed = eqx.tree_at(
            lambda rows: (rows.terminated, rows.successor),
            slot,
            (jnp.full(STEPS, terminated), successor),
        )
        return gradient(parameters, memory, changed, key).first_critic

    assert_same_bits(critic_gradient(True, slot.successor), critic_gradient(True, later))
    assert slot.ended.any()
    bootstrapped, elsewhere = critic_gradient(False, slot.successor), critic_gradient(False, later)
    assert (bootstrapped.biases[-1] != elsewhere.biases[-1]).all()


@pytest.mark.parametrize("index", [1.0, 1.5])
def test_whose_density_counts_matters_unless_the_index_is_one(index):
    parameters, memory = begun()
    batch = one_batch(slot_of(1), jax.random.key(1))
    joint, each = (
        losses(
            TACConfig(entropic_index=index, density=word), AGENT, parameters, memory.target, batch
        )
        for word in ("joint", "each")
    )
    same = abs(float(joint[1]["policy_loss"] - each[1]["policy_loss"])) < 1e-6
    assert same == (index == 1)
    assert joint[1]["critic_loss"] == each[1]["critic_loss"]


def test_the_entropy_reported_is_the_policys():
    parameters, memory = begun()
    slot, key = slot_of(1), jax.random.key(4)
    batch = one_batch(slot, key)

    _, metrics = losses(TACConfig(entropic_index=2.0), AGENT, parameters, memory.target, batch)

    policy = squashed(forward(parameters.policy, "tanh", slot.observation))
    _, log_densities = draw(policy, batch.noise)
    expected = 1 - np.exp(np.asarray(log_densities).sum(axis=1)).mean()  # −ln_2 x = 1 − x
    assert float(metrics["entropy"]) == pytest.approx(expected, rel=1e-5)


def test_a_policy_begins_with_the_width_asked_for():
    policy = squashed(forward(begun()[0].policy, AGENT.activation, slot_of(1).observation))
    np.testing.assert_allclose(policy.log_std, SMALL.initial_log_std, atol=0.2)
    np.testing.assert_allclose(policy.mean, 0, atol=0.05)
    assert log_std_of(0.0) < -8  # where it would begin without asking


def test_only_targets_are_averaged_when_agents_meet():
    _, memory = begun()
    memories = jax.tree.map(lambda array: jnp.stack([array, jnp.ones_like(array)]), memory)

    def average(tree):
        return jax.tree.map(
            lambda rows: jnp.broadcast_to(rows.mean(axis=0, keepdims=True), rows.shape), tree
        )

    met = make().merge_memory(memories, average)

    assert_same_bits(met.target, average(memories.target))
    assert (met.target.weights[0] != memories.target.weights[0]).any()
    assert_same_bits((met.optimiser, met.replay), (memories.optimiser, memories.replay))


def test_the_target_begins_as_the_value_network_but_shares_no_array_with_it():
    """Else an engine that gives away the memory would give away the parameters."""
    parameters, memory = begun()
    assert_same_bits(memory.target, parameters.value)
    for mine, shared in zip(*map(jax.tree.leaves, (memory.target, parameters.value)), strict=True):
        assert mine.unsafe_buffer_pointer() != shared.unsafe_buffer_pointer()


@pytest.mark.parametrize("index", [0.5, 1.5, 5.0])
def test_every_step_is_finite(index):
    """However large the world's numbers, for the narrowest and the widest policy."""
    config = dataclasses.replace(SMALL, entropic_index=index)
    parameters, memory, update, gradient = compiled(config)
    for size, width in itertools.product((0.0, 1.0, 1e5), (-1e4, 1e4)):
        extreme = parameters._replace(policy=_leaning(parameters.policy, 50.0, width))
        slot, key = slot_of(1, scale=size), jax.random.key(1)

        found = [gradient(extreme, memory, slot, key)]
        if config == SMALL:  # compiled anyway for other tests
            found.append(update(extreme, memory, slot, key, RATE))

        assert all(jnp.isfinite(array).all() for array in jax.tree.leaves(found)), (size, width)


def _leaning(policy, mean, width):
    """Outputs far out, of means and of widths."""
    last = jnp.asarray([mean] * ACTED + [width] * ACTED, jnp.float32)
    return policy._replace(biases=(*policy.biases[:-1], last))


def test_what_a_worker_is_sent_is_a_policy_that_it_accepts():
    algorithm = make()
    acting = jax.tree.map(lambda array: np.asarray(array)[None], algorithm.acting(*begun()))
    spec = WorldSpec(
        name="any", num_agents=1, observation_size=SEEN, num_actions=ACTED, epoch_steps=9
    )
    for kind in (algorithm.explores, algorithm.exploits):
        check_policy(Policy(kind, PolicyParameters(*acting), algorithm.activation), spec)


def test_a_world_of_choices_is_refused_in_one_line():
    with pytest.raises(BadInput, match=r"TAC in a world of choices .* Use PPO or TRPO") as refusal:
        make_tac(SMALL, AGENT, observation_size=3, num_actions=2, is_discrete=True)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "setting",
    [
        {"entropic_index": 0.0},
        {"entropic_index": float("nan")},
        {"entropic_index": 1e300},
        {"entropy_weight": -0.1},
        {"density": "jiont"},
        {"batch_size": 0},
        {"batch_size": 101, "replay_capacity": 100},
        {"replay_capacity": 10**8},
        {"updates_per_slot": 0},
        {"updates_per_slot": 10**6},
        {"target_rate": 0.0},
        {"target_rate": 1.5},
        {"random_updates": -1},
        {"initial_log_std": 2.0},
        {"initial_log_std": -20.0},
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused_in_one_line(setting):
    with pytest.raises(BadInput, match="is not allowed") as refusal:
        TACConfig(**setting)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("index", [1.0, 1.5])
def test_it_learns_to_repeat_what_it_sees(index):
    """One step long, reward −(action − seen)²; a blind agent can not do better than −1/3."""
    config = TACConfig(
        entropic_index=index, batch_size=64, replay_capacity=2000, updates_per_slot=50
    )
    agent = AgentConfig(hidden=(16, 16))
    algorithm = make_tac(config, agent, observation_size=1, num_actions=1, is_discrete=False)

    @jax.jit
    def learn(key):
        begin_key, test_key, *keys = jax.random.split(key, 32)
        begun = algorithm.init(begin_key)
        learned, _ = jax.lax.scan(partial(_learned, algorithm), begun, jnp.stack(keys))
        return _repeated(learned[0], test_key, chance=0.0).reward.mean()

    assert learn(jax.random.key(1)) > -0.01


def _learned(algorithm, state, key):
    play_key, update_key = jax.random.split(key)
    parameters, memory = state
    slot = _repeated(parameters, play_key, chance=1.0)
    step, memory, _ = algorithm.local_update(parameters, memory, slot, update_key, 3e-3)
    return (jax.tree.map(lambda old, by: old - 3e-3 * by, parameters, step), memory), None


def _repeated(parameters, key, chance):
    seen_key, noise_key = jax.random.split(key)
    seen = jax.random.uniform(seen_key, (100, 1), minval=-1, maxval=1)
    policy = squashed(forward(parameters.policy, "tanh", seen))
    action, _ = draw(policy, chance * jax.random.normal(noise_key, (100, 1)))
    ended = jnp.full(100, True)
    reward = -((action - seen) ** 2)[:, 0]
    return Transitions(seen, seen, action, reward, present=ended, terminated=ended, ended=ended)
