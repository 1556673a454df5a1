"""The four losses of the Tsallis actor-critic: those of soft actor-critic with ln_q for ln.

With ã drawn afresh from the policy π(·|s), and V' the value network that lags behind:

    critics   ½ (Q_i(s, a) − y)²         y = r + γ V'(s'), or r alone where nothing follows
    value     ½ (V(s) − y)²              y = min(Q_1, Q_2)(s, ã) − α ln_q π(ã|s)
    policy    α ln_q π(ã|s) − Q_1(s, ã)

No gradient flows through a target y, nor from the policy's loss into a critic, so the gradient of
the sum holds each network's gradient of its own loss, all at the same parameters.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Metrics
from fmarl.algorithms.networks import Network, forward
from fmarl.algorithms.replay import Samples
from fmarl.algorithms.squashed_gaussian import draw, squashed
from fmarl.algorithms.tac_config import TACConfig
from fmarl.algorithms.tsallis import q_logarithm, tsallis_entropy

Rows = Float[Array, " row"]
Observations = Float[Array, "row observation"]
Actions = Float[Array, "row action"]


class TACParameters(NamedTuple):
    """What an agent learns and exchanges."""

    policy: Network
    first_critic: Network
    second_critic: Network
    value: Network


class Minibatch(NamedTuple):
    """What a gradient is taken on."""

    samples: Samples
    weight: Rows
    """How much each row counts; the weights sum to one, or to zero if there is nothing to learn."""
    noise: Actions
    """Standard normal; it makes the fresh actions."""


class Drawn(NamedTuple):
    """A fresh action in each row: how likely it was, and what the critics think of it."""

    log_density: Rows
    price: Rows
    """α ln_q π(ã|s): what the loss charges for being so likely."""
    first: Rows
    second: Rows


def gradients(
    config: TACConfig,
    agent: AgentConfig,
    parameters: TACParameters,
    target: Network,
    batch: Minibatch,
) -> tuple[TACParameters, Metrics]:
    """Each network's gradient of its own loss, and the numbers that `losses` gives."""
    slope = jax.grad(partial(losses, config, agent), has_aux=True)
    return slope(parameters, target, batch)


def losses(
    config: TACConfig,
    agent: AgentConfig,
    parameters: TACParameters,
    target: Network,
    batch: Minibatch,
) -> tuple[Float[Array, ""], Metrics]:
    """Sum of the four losses, and numbers worth plotting; `target` is V'."""
    seen, acted, weight = batch.samples.observation, batch.samples.action, batch.weight
    drawn = _drawn(config, agent, parameters, seen, batch.noise)
    first = _action_values(agent, parameters.first_critic, seen, acted)
    second = _action_values(agent, parameters.second_critic, seen, acted)
    aim = _critic_aim(agent, target, batch.samples)
    value_aim = jax.lax.stop_gradient(jnp.minimum(drawn.first, drawn.second) - drawn.price)
    value_error = _values(agent, parameters.value, seen) - value_aim
    policy_loss = jnp.sum(weight * (drawn.price - drawn.first))
    critic_loss = jnp.sum(weight * ((first - aim) ** 2 + (second - aim) ** 2)) / 2
    value_loss = jnp.sum(weight * value_error**2) / 2
    return policy_loss + critic_loss + value_loss, {
        "policy_loss": policy_loss,
        "critic_loss": critic_loss,
        "value_loss": value_loss,
        "entropy": tsallis_entropy(drawn.log_density, weight, config.entropic_index),
        "mean_q": jnp.sum(weight * (first + second)) / 2,
    }


def _drawn(
    config: TACConfig,
    agent: AgentConfig,
    parameters: TACParameters,
    seen: Observations,
    noise: Actions,
) -> Drawn:
    """Let the policy act again; gradients reach it through the critics, and stop at these."""
    policy = squashed(forward(parameters.policy, agent.activation, seen))
    action, log_densities = draw(policy, noise)
    critics = jax.lax.stop_gradient((parameters.first_critic, parameters.second_critic))
    return Drawn(
        jnp.sum(log_densities, axis=1),
        config.entropy_weight * _information(config, log_densities),
        *(_action_values(agent, critic, seen, action) for critic in critics),
    )


def _information(config: TACConfig, log_densities: Actions) -> Rows:
    """ln_q π. Unlike ln, ln_q of a product is not the sum of its parts'."""
    if config.density == "joint":
        return q_logarithm(jnp.sum(log_densities, axis=1), config.entropic_index)
    return jnp.sum(q_logarithm(log_densities, config.entropic_index), axis=1)


def _action_values(
    agent: AgentConfig, critic: Network, seen: Observations, action: Actions
) -> Rows:
    return _values(agent, critic, jnp.concatenate([seen, action], axis=1))


def _values(agent: AgentConfig, network: Network, inputs: Float[Array, "row input"]) -> Rows:
    return forward(network, agent.activation, inputs)[:, 0]


def _critic_aim(agent: AgentConfig, target: Network, samples: Samples) -> Rows:
    future = agent.discount * _values(agent, target, samples.successor)
    return samples.reward + jnp.where(samples.terminated, 0.0, future)
