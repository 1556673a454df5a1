from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

from fmarl.algorithms.actor_critic import NetworkSpec, policy_outputs
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Algorithm
from fmarl.algorithms.on_policy_batch import make_experience
from fmarl.algorithms.optimisers import optimiser
from fmarl.algorithms.trpo import TRPOConfig, TRPOSetup, make_trpo, trust_region
from fmarl.algorithms.trust_region import Region, curvature_product, line_search
from fmarl.errors import BadInput
from unit.algorithms.slots import OBSERVATION_SIZE, begun, random_slot

KEY, RATE = jax.random.key(0), jnp.float32(0.01)
SHAPES = {"observation_size": OBSERVATION_SIZE, "num_actions": 2}
AGENT = AgentConfig(hidden=(8, 8))


def trpo(is_discrete: bool = False, **settings: Any) -> Algorithm:
    return make_trpo(TRPOConfig(**settings), AGENT, is_discrete=is_discrete, **SHAPES)


def region_of(is_discrete: bool, parameters, slot) -> Region:
    spec = NetworkSpec(is_discrete=is_discrete, agent=AGENT, **SHAPES)
    setup = TRPOSetup(TRPOConfig(), spec, optimiser("adam"))
    experience = make_experience(spec, parameters, None, slot, 1.0)
    return trust_region(setup, parameters, experience)


@partial(jax.jit, static_argnums=0)
def measured(is_discrete: bool, parameters, slot, place):
    """Gain and divergence of a place, seen from where the parameters are."""
    region = region_of(is_discrete, parameters, slot)
    outputs = region.model(place)
    return region.gain(outputs), region.divergence(outputs)


def applied(parameters, step, rate=RATE):
    return jax.tree.map(lambda here, way: here - rate * way, parameters, step)


@pytest.fixture(scope="module", params=[False, True], ids=["gaussian", "categorical"])
def case(request):
    """A compiled update; which kind, and where it begins."""
    algorithm = trpo(request.param)
    update = jax.jit(algorithm.local_update)
    return request.param, update, begun(algorithm)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_stays_in_the_trust_region_and_promises_more(case, seed):
    is_discrete, update, (parameters, memory) = case
    slot = random_slot(seed, is_discrete=is_discrete, present=0.8)
    step, _, metrics = update(parameters, memory, slot, KEY, RATE)
    before, _ = measured(is_discrete, parameters, slot, parameters)
    gain, divergence = measured(is_discrete, parameters, slot, applied(parameters, step))
    assert metrics["accepted"] == 1
    assert 0.001 < divergence < 0.01
    assert divergence == pytest.approx(float(metrics["kl"]), rel=1e-2)
    assert gain > before + 0.01


def test_the_step_does_not_depend_on_the_learning_rate(case):
    is_discrete, update, start = case
    slot = random_slot(is_discrete=is_discrete)
    ends = [
        applied(start[0], update(*start, slot, KEY, rate)[0], rate)
        for rate in (jnp.float32(1e-4), jnp.float32(0.3))
    ]
    for one, other in zip(*map(jax.tree.leaves, ends), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_an_annealed_rate_of_zero_moves_nothing(case):
    is_discrete, update, start = case
    step, _, _ = update(*start, random_slot(is_discrete=is_discrete), KEY, jnp.float32(0))
    assert not any(leaf.any() for leaf in jax.tree.leaves(step))


def test_an_agent_that_was_never_there_stands_still(case):
    """Even where its critic has momentum."""
    is_discrete, update, (parameters, memory) = case
    _, memory, _ = update(parameters, memory, random_slot(is_discrete=is_discrete), KEY, RATE)
    nobody = random_slot(is_discrete=is_discrete, present=False)
    step, after, metrics = update(parameters, memory, nobody, KEY, RATE)
    assert not any(leaf.any() for leaf in jax.tree.leaves(step))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, memory, after))
    assert all(np.isfinite(number) for number in metrics.values())


def test_a_failed_search_leaves_the_policy_untouched_and_teaches_the_critic():
    """A radius far beyond where the divergence is quadratic, and one try."""
    algorithm = trpo(target_kl=20.0, line_search_steps=1)
    step, _, metrics = jax.jit(algorithm.local_update)(*begun(algorithm), random_slot(0), KEY, RATE)
    assert metrics["accepted"] == 0 and metrics["kl"] == 0
    assert not any(leaf.any() for leaf in jax.tree.leaves((step.actor, step.log_std)))
    assert all(leaf.any() for leaf in jax.tree.leaves(step.critic))


def test_the_critic_learns(case):
    is_discrete, update, (parameters, memory) = case
    slot, losses = random_slot(2, is_discrete=is_discrete), []
    for _ in range(100):
        step, memory, metrics = update(parameters, memory, slot, KEY, RATE)
        parameters = applied(parameters, step)
        losses.append(float(metrics["value_loss"]))
    assert losses[-1] < 0.6 * losses[0]


def test_the_gradient_is_that_of_critic_and_actor_together(case):
    is_discrete, _, (parameters, memory) = case
    slot = random_slot(3, is_discrete=is_discrete)
    gradient = jax.jit(trpo(is_discrete).gradient)(parameters, memory, slot, KEY)
    gain = jax.grad(lambda place: measured(is_discrete, parameters, slot, place)[0])(parameters)
    for ours, theirs in ((gradient.actor, gain.actor), (gradient.log_std, gain.log_std)):
        total = jax.tree.map(jnp.add, ours, theirs)
        assert optax.tree.norm(total) <= 1e-6 * optax.tree.norm(gain)
    assert optax.tree.norm(gradient.critic) > 0


@pytest.mark.parametrize("is_discrete", [False, True])
def test_the_curvature_is_how_the_divergences_gradient_changes(is_discrete):
    """Finite differences, in double precision."""
    parameters, _ = begun(trpo(is_discrete))
    slot = random_slot(4, is_discrete=is_discrete, present=0.7)
    with jax.enable_x64(True):
        parameters, slot = jax.tree.map(as_double, (parameters, slot))
        flat, restore = ravel_pytree(parameters)
        vector = jax.random.normal(KEY, flat.shape, float)

        @jax.jit
        @jax.grad
        def slope(place):
            return measured(is_discrete, parameters, slot, restore(place))[1]

        @jax.jit
        def product(vector):
            region = region_of(is_discrete, parameters, slot)
            return ravel_pytree(curvature_product(region, parameters, 0.3)(restore(vector)))[0]

        bent = (slope(flat + 1e-5 * vector) - slope(flat - 1e-5 * vector)) / 2e-5
        np.testing.assert_allclose(product(vector), bent + 0.3 * vector, rtol=1e-6, atol=1e-8)


def as_double(leaf: jax.Array) -> jax.Array:
    return leaf.astype(float) if leaf.dtype == jnp.float32 else leaf


@pytest.mark.parametrize(
    "settings",
    [
        {"target_kl": 0.0},
        {"cg_steps": 0},
        {"cg_damping": -0.1},
        {"line_search_steps": 0},
        {"line_search_shrink": 1.0},
        {"critic_passes": 0},
        {"critic_learning_rate": float("nan")},
        {"gae_lambda": -0.1},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused_by_name(settings):
    (name,) = settings
    with pytest.raises(BadInput, match=rf"^{name} = .* is not allowed: .* Use "):
        TRPOConfig(**settings)


def test_the_divergence_can_be_taken_in_either_order():
    """KL(old‖new) by the region itself, and by hand from the distribution."""
    algorithm = trpo(kl_order="old-new")
    parameters, memory = begun(algorithm)
    slot = random_slot(1)
    step, _, metrics = jax.jit(algorithm.local_update)(parameters, memory, slot, KEY, RATE)
    after = applied(parameters, step)
    spec = NetworkSpec(is_discrete=False, agent=AGENT, **SHAPES)
    old, new = (policy_outputs(spec, one, slot.observation) for one in (parameters, after))
    both = [float(spec.distribution.divergence(*pair).mean()) for pair in ((old, new), (new, old))]
    assert both[0] == pytest.approx(float(metrics["kl"]), rel=1e-4)
    assert both[1] != pytest.approx(both[0], rel=1e-3)
    with pytest.raises(BadInput, match="kl_order = 'old'"):
        TRPOConfig(kl_order="old")


def test_the_search_works_in_double_precision():
    """On a parabola: at least a quarter of a step of 4 is inside a radius of 2."""
    with jax.enable_x64(True):
        start = jnp.zeros(2, jnp.float64)
        region = Region(lambda place: place, jnp.sum, lambda place: place @ place / 2, 2.0)
        found = line_search(region, start, jnp.array([4.0, 0.0]), 0.5, 10)
        assert found.length.dtype == jnp.float64
        assert (float(found.length), float(found.divergence)) == (0.25, 0.5)
