"""An actor that chooses and a critic that foresees: two networks that share nothing."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fmarl.algorithms.agent import AgentConfig
from fmarl.algorithms.algorithm import Acting
from fmarl.algorithms.distributions import CATEGORICAL, GAUSSIAN, Distribution, Intent
from fmarl.algorithms.networks import Network, init_network, outputs
from fmarl.algorithms.normaliser import Statistics, fold

ACTOR_GAIN = 0.01
"""Of the actor's last layer: at the start all means are near 0, all choices equally likely."""
CRITIC_GAIN = 1.0


@dataclass(frozen=True, kw_only=True)
class Blueprint:
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


def init_actor_critic(
    key: PRNGKeyArray, blueprint: Blueprint, initial_log_std: float
) -> ActorCritic:
    """Orthogonal weights, zero biases, and the same initial spread for every number."""
    actor_key, critic_key = jax.random.split(key)
    inside = (blueprint.observation_size, *blueprint.agent.hidden)
    spread = 0 if blueprint.is_discrete else blueprint.num_actions
    return ActorCritic(
        init_network(actor_key, (*inside, blueprint.num_actions), ACTOR_GAIN),
        init_network(critic_key, (*inside, 1), CRITIC_GAIN),
        jnp.full(spread, initial_log_std, jnp.float32),
    )


def intent(
    blueprint: Blueprint, parameters: ActorCritic, observation: Float[Array, "time observation"]
) -> Intent:
    """What the actor intends in each row."""
    chosen = outputs(parameters.actor, blueprint.agent.activation, observation)
    return Intent(chosen, parameters.log_std)


def values(
    blueprint: Blueprint, critic: Network, observation: Float[Array, "time observation"]
) -> Float[Array, " time"]:
    """What the critic expects to follow each row: discounted rewards to come."""
    return outputs(critic, blueprint.agent.activation, observation)[:, 0]


def acting(blueprint: Blueprint, parameters: ActorCritic, statistics: Statistics | None) -> Acting:
    """What a worker acts with: the actor, for raw observations, and its spread."""
    actor = fold(statistics, parameters.actor)
    ignored = jnp.zeros(blueprint.num_actions, jnp.float32)
    log_std = ignored if blueprint.is_discrete else parameters.log_std
    return Acting(actor.weights, actor.biases, log_std)
