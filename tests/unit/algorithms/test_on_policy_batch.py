import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.algorithms.actor_critic import ActorCritic, NetworkSpec, init_actor_critic
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.networks import Network
from fmarl.algorithms.on_policy_batch import Experience, diagnostics, value_loss

BLUEPRINT = NetworkSpec(
    observation_size=1, num_actions=1, is_discrete=False, agent=AgentConfig(hidden=(4,))
)


@pytest.fixture(scope="module")
def parameters() -> ActorCritic:
    return init_actor_critic(jax.random.key(0), BLUEPRINT, initial_log_std=0.5)


def says_two(parameters: ActorCritic) -> Network:
    """A critic that expects 2 everywhere."""
    critic = jax.tree.map(jnp.zeros_like, parameters.critic)
    return eqx.tree_at(lambda network: network.biases[-1], critic, jnp.array([2.0]))


def experience() -> Experience:
    """Three rows and an absent one. The critic expected 1; 1, 4 and −3 more came."""
    nothing = jnp.zeros((4, 1))
    return Experience(
        observation=nothing,
        action=nothing,
        weight=jnp.array([1.0, 1.0, 1.0, 0.0]),
        log_probability=jnp.zeros(4),
        value=jnp.ones(4),
        advantage=jnp.array([1.0, 4.0, -3.0, 100.0]),
    )


@pytest.mark.parametrize(("clip", "answer"), [(0.0, 2.0), (0.25, 1.25), (5.0, 2.0)])
def test_the_critics_error_by_hand(parameters, clip, answer):
    """Targets are 2, 5 and −2; the answer has moved from 1 to 2, or as far as it may."""
    errors = [answer - 2, answer - 5, answer + 2]
    loss = value_loss(BLUEPRINT, says_two(parameters), experience(), clip)
    np.testing.assert_allclose(loss, np.mean(np.square(errors)), rtol=1e-6)


def test_a_critic_clipped_on_its_way_learns_nothing(parameters):
    slope = jax.grad(lambda critic: value_loss(BLUEPRINT, critic, experience(), 0.25))
    assert not any(leaf.any() for leaf in jax.tree.leaves(slope(says_two(parameters))))


def test_a_constant_critic_explains_nothing(parameters):
    metrics = diagnostics(parameters, experience())
    assert metrics["explained_variance"] == pytest.approx(0, abs=1e-6)
    assert metrics["std"] == pytest.approx(np.exp(0.5))


def test_a_critic_that_is_always_one_too_low_explains_everything(parameters):
    rows = eqx.tree_at(
        lambda own: (own.value, own.advantage),
        experience(),
        (jnp.array([3.0, 1.0, 7.0, 0.0]), jnp.array([1.0, 1.0, 1.0, 50.0])),
    )
    assert diagnostics(parameters, rows)["explained_variance"] == 1


def test_where_all_targets_are_equal_there_is_nothing_to_explain(parameters):
    rows = eqx.tree_at(lambda own: own.advantage, experience(), jnp.zeros(4))
    assert diagnostics(parameters, rows)["explained_variance"] == 0
