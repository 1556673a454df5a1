"""What PPO and TRPO have in common: they learn from a slot at once, and forget it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from fmarl.algorithms.actor_critic import ActorCritic, NetworkSpec, acting, init_actor_critic
from fmarl.algorithms.algorithm import Algorithm, Metrics, Transitions, Tree
from fmarl.algorithms.multi_step import choose
from fmarl.algorithms.normaliser import Statistics, no_statistics, pooled, seen
from fmarl.algorithms.on_policy_batch import Experience, diagnostics, make_experience
from fmarl.errors import require


@dataclass(frozen=True, kw_only=True)
class OnPolicyConfig:
    """How advantages are estimated, whatever is then learned from it."""

    gae_lambda: float = 1.0
    """λ of the advantage estimate. 1 sums the rewards to the slot's end, as the paper does; less
    trusts the critic earlier."""
    normalise_advantages: bool = True
    """Give the advantages that are learned from together mean 0 and standard deviation 1."""
    normalise_observations: bool = False
    """Give the networks inputs of mean 0 and standard deviation 1, by running statistics."""
    initial_log_std: float = 0.0
    """Logarithm of the standard deviation with which agents begin to explore."""


class OnPolicyMemory(eqx.Module):
    """What an agent keeps for itself."""

    optimiser: Tree
    """State of the optimiser, such as Adam's moments."""
    statistics: Statistics | None
    """Of what it has seen, if it normalises its observations."""


class OnPolicyLearner(NamedTuple):
    """What an algorithm makes of the experience of a slot."""

    config: OnPolicyConfig
    spec: NetworkSpec
    init: Callable[[ActorCritic], Tree]
    """Parameters to the optimiser's first state."""
    learn: Callable[..., tuple[ActorCritic, Tree, Metrics]]
    """`(parameters, optimiser, experience, key, learning_rate)` to pseudo-gradient, the optimiser's
    new state and numbers worth plotting."""
    gradient: Callable[[ActorCritic, Experience], ActorCritic]
    """Of the loss, over a whole slot."""


def check_on_policy(config: OnPolicyConfig) -> None:
    """Refuse common settings that can not be used."""
    require_within("gae_lambda", config.gae_lambda, 0.0, 1.0, "Use 1 or 0.95.")
    require_within("initial_log_std", config.initial_log_std, -10.0, 5.0, "Use 0.")


def require_within(
    name: str, value: float | int, least: float | int, most: float | int, fix: str
) -> None:
    """Refuse a number outside a range; the ends are allowed."""
    require(least <= value <= most, f"{name} = {value}", f"{least:g} to {most:g}", fix)


def make_on_policy(learner: OnPolicyLearner) -> Algorithm:
    """Put an algorithm together."""
    return Algorithm(
        init=partial(_init, learner),
        local_update=partial(_local_update, learner),
        gradient=partial(_gradient, learner),
        acting=lambda row, memory: acting(learner.spec, row, memory.statistics),
        merge_memory=_merge_memory,
        explores="sampled",
        exploits="greedy",
        activation=learner.spec.agent.activation,
        random_updates=0,
    )


def _init(learner: OnPolicyLearner, key: PRNGKeyArray) -> tuple[ActorCritic, OnPolicyMemory]:
    config, spec = learner.config, learner.spec
    parameters = init_actor_critic(key, spec, config.initial_log_std)
    nothing = no_statistics(spec.observation_size) if config.normalise_observations else None
    return parameters, OnPolicyMemory(learner.init(parameters), nothing)


def _local_update(
    learner: OnPolicyLearner,
    parameters: ActorCritic,
    memory: OnPolicyMemory,
    transitions: Transitions,
    key: PRNGKeyArray,
    learning_rate: Float[Array, ""],
) -> tuple[ActorCritic, OnPolicyMemory, Metrics]:
    experience = _experience(learner, parameters, memory, transitions)
    step, optimiser, metrics = learner.learn(
        parameters, memory.optimiser, experience, key, learning_rate
    )
    # An agent that was never there has learned nothing: no momentum may move it.
    nothing = (jax.tree.map(jnp.zeros_like, step), memory.optimiser)
    step, optimiser = choose(jnp.any(transitions.present), (step, optimiser), nothing)
    metrics = {**metrics, **diagnostics(parameters, experience)}
    statistics = memory.statistics
    if statistics is not None:  # and not before: a slot needs those that it was acted with
        statistics = seen(statistics, transitions.observation, transitions.present)
    return step, OnPolicyMemory(optimiser, statistics), metrics


def _gradient(
    learner: OnPolicyLearner,
    parameters: ActorCritic,
    memory: OnPolicyMemory,
    transitions: Transitions,
    key: PRNGKeyArray,
) -> ActorCritic:
    """Gradient at θ = θ_old over the whole slot; nothing is left to chance."""
    return learner.gradient(parameters, _experience(learner, parameters, memory, transitions))


def _experience(
    learner: OnPolicyLearner,
    parameters: ActorCritic,
    memory: OnPolicyMemory,
    transitions: Transitions,
) -> Experience:
    gae_lambda = learner.config.gae_lambda
    return make_experience(learner.spec, parameters, memory.statistics, transitions, gae_lambda)


def _merge_memory(memory: OnPolicyMemory, average: Callable[[Tree], Tree]) -> OnPolicyMemory:
    """Pool what the agents have seen, for averaged networks want inputs scaled alike."""
    if memory.statistics is None:
        return memory
    return OnPolicyMemory(memory.optimiser, pooled(memory.statistics, average))
