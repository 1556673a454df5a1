"""An actor that chooses and a critic that foresees: two networks that share nothing."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Acting
from fmarl.algorithms.distributions import CATEGORICAL, GAUSSIAN, Distribution, PolicyOutputs
from fmarl.algorithms.networks import Network, forward, init_network
from fmarl.algorithms.normaliser import Statistics, fold

ACTOR_GAIN = 0.01
"""Of the actor's last layer: at the start all means are near 0, all choices equally likely."""
CRITIC_GAIN = 1.0


@dataclass(frozen=True, kw_only=True)
class NetworkSpec:
    """What an actor-critic is made of, for a world of these shapes."""

    observation_size: int
    num_actions: int
    """Continuous: numbers per action. Discrete: choices."""
    is_discrete: bool
    agent: AgentConfig

    @property
    def distribution(self) -> Distribution:
        """How actions are drawn from the actor's outputs."""
        return CATEGORICAL if self.is_discrete else GAUSSIAN


class ActorCritic(NamedTuple):
    """What an agent learns and exchanges."""

    actor: Network
    critic: Network
    log_std: Float[Array, " spread"]
    """One per number of an action, for every observation the same; empty for choices."""


def init_actor_critic(key: PRNGKeyArray, spec: NetworkSpec, initial_log_std: float) -> ActorCritic:
    """Orthogonal weights, zero biases, and the same initial spread for every number."""
    actor_key, critic_key = jax.random.split(key)
    inside = (spec.observation_size, *spec.agent.hidden)
    spread = 0 if spec.is_discrete else spec.num_actions
    return ActorCritic(
        init_network(actor_key, (*inside, spec.num_actions), ACTOR_GAIN),
        init_network(critic_key, (*inside, 1), CRITIC_GAIN),
        jnp.full(spread, initial_log_std, jnp.float32),
    )


def policy_outputs(
    spec: NetworkSpec, parameters: ActorCritic, observation: Float[Array, "time observation"]
) -> PolicyOutputs:
    """What the actor intends in each row."""
    chosen = forward(parameters.actor, spec.agent.activation, observation)
    return PolicyOutputs(chosen, parameters.log_std)


def values(
    spec: NetworkSpec, critic: Network, observation: Float[Array, "time observation"]
) -> Float[Array, " time"]:
    """What the critic expects to follow each row: discounted rewards to come."""
    return forward(critic, spec.agent.activation, observation)[:, 0]


def acting(spec: NetworkSpec, parameters: ActorCritic, statistics: Statistics | None) -> Acting:
    """What a worker acts with: the actor, for raw observations, and its spread."""
    actor = fold(statistics, parameters.actor)
    ignored = jnp.zeros(spec.num_actions, jnp.float32)
    log_std = ignored if spec.is_discrete else parameters.log_std
    return Acting(actor.weights, actor.biases, log_std)
