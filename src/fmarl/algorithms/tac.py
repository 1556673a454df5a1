"""Tsallis actor-critic (Lee et al. 2019, arXiv 1902.00137): learns from all that is remembered.

With q = 1 it is soft actor-critic in its first form, with a value network. An agent exchanges its
policy, both critics and its value network; it keeps its replay memory, its optimiser's state and
the value network that lags behind, the target.

All four networks step at once, by gradients taken at the same parameters, and then the target
follows the new value network: that is what one step of the authors' code computes. A limit on the
gradient's norm holds for all four together. Unlike the authors we learn after every slot instead of
every epoch; `TACConfig` says what else differs.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Acting, Algorithm, Metrics, Transitions, Tree
from fmarl.algorithms.log_std import output_for
from fmarl.algorithms.multi_step import choose
from fmarl.algorithms.networks import Network, init_network
from fmarl.algorithms.optimisers import optimiser
from fmarl.algorithms.replay import Replay, append, empty_replay, sample, samples_of
from fmarl.algorithms.tac_config import TACConfig
from fmarl.algorithms.tac_losses import Minibatch, TACParameters, gradients
from fmarl.errors import require

POLICY_GAIN, CRITIC_GAIN = 0.01, 1.0
"""Of the last layers at the start: means near zero, values of about unit size."""

Rate = Float[Array, ""] | float


class TACMemory(eqx.Module):
    """What an agent keeps for itself."""

    optimiser: Tree
    replay: Replay
    target: Network
    """V': the value network, lagging behind."""


class TACSetup(NamedTuple):
    """What every function below needs to know."""

    config: TACConfig
    agent: AgentConfig
    rule: optax.GradientTransformation
    observation_size: int
    num_actions: int


class TACDescent(NamedTuple):
    """Where a sequence of gradient steps has led."""

    parameters: TACParameters
    optimiser: Tree
    target: Network
    total: TACParameters
    """Sum of the optimiser's directions so far."""


def make_tac(
    config: TACConfig,
    agent: AgentConfig,
    *,
    observation_size: int,
    num_actions: int,
    is_discrete: bool,
) -> Algorithm:
    """The Tsallis actor-critic for a world of these shapes, whose actions must be numbers."""
    allowed = "its actions are numbers from −1 to 1"
    require(not is_discrete, "TAC in a world of choices", allowed, "Use PPO or TRPO there.")
    rule = optimiser(agent.optimiser, agent.max_gradient_norm)
    setup = TACSetup(config, agent, rule, observation_size, num_actions)
    return Algorithm(
        init=partial(_init, setup),
        local_update=partial(_local_update, setup),
        gradient=partial(_gradient, setup),
        acting=partial(_acting, setup),
        merge_memory=_merge_memory,
        explores="squashed",
        exploits="squashed-greedy",
        activation=agent.activation,
        random_updates=config.random_updates,
    )


def _init(setup: TACSetup, key: PRNGKeyArray) -> tuple[TACParameters, TACMemory]:
    config, seen, acted = setup.config, setup.observation_size, setup.num_actions
    inside = setup.agent.hidden
    policy_key, first_key, second_key, value_key = jax.random.split(key, 4)
    policy = init_network(policy_key, (seen, *inside, 2 * acted), POLICY_GAIN)
    parameters = TACParameters(
        policy=_widened(policy, config.initial_log_std),
        first_critic=init_network(first_key, (seen + acted, *inside, 1), CRITIC_GAIN),
        second_critic=init_network(second_key, (seen + acted, *inside, 1), CRITIC_GAIN),
        value=init_network(value_key, (seen, *inside, 1), CRITIC_GAIN),
    )
    # A copy, or a caller who donates the memory would give away the parameters as well.
    target = jax.tree.map(jnp.copy, parameters.value)
    replay = empty_replay(config.replay_capacity, seen, acted)
    return parameters, TACMemory(setup.rule.init(parameters), replay, target)


def _widened(policy: Network, log_std: float) -> Network:
    """Let the policy start with this log-std, by the biases of its second half of outputs."""
    *others, last = policy.biases
    wide = last.at[last.size // 2 :].set(output_for(log_std))
    return policy._replace(biases=(*others, wide))


def _local_update(
    setup: TACSetup,
    parameters: TACParameters,
    memory: TACMemory,
    transitions: Transitions,
    key: PRNGKeyArray,
    learning_rate: Rate,
) -> tuple[TACParameters, TACMemory, Metrics]:
    """Remember the slot, then take gradient steps; their directions' sum is the pseudo-gradient.

    Until a whole batch is remembered, the pseudo-gradient is zero and only the replay changes; from
    then on an agent learns even from a slot in which it was absent. Metrics are means over steps.
    """
    replay = append(memory.replay, transitions)
    still = jax.tree.map(jnp.zeros_like, parameters)
    begun = TACDescent(parameters, memory.optimiser, memory.target, still)
    step = partial(_step, setup, learning_rate)
    ended, history = jax.lax.scan(step, begun, _batches(setup, replay, key))
    # Chosen afterwards, for a condition mapped over agents computes both sides anyway.
    is_ready = replay.size >= setup.config.batch_size
    kept = choose(is_ready, ended, begun)
    metrics = {name: jnp.where(is_ready, jnp.mean(rows), 0.0) for name, rows in history.items()}
    metrics["replay_size"] = replay.size.astype(jnp.float32)
    return kept.total, TACMemory(kept.optimiser, replay, kept.target), metrics


def _batches(setup: TACSetup, replay: Replay, key: PRNGKeyArray) -> Minibatch:
    """All batches of a slot, along a first axis; drawn at once, which is faster."""
    sample_key, noise_key = jax.random.split(key)
    shape = (setup.config.updates_per_slot, setup.config.batch_size)
    return Minibatch(
        samples=sample(replay, sample_key, shape),
        weight=jnp.full(shape, 1 / setup.config.batch_size),
        noise=jax.random.normal(noise_key, (*shape, setup.num_actions)),
    )


def _step(
    setup: TACSetup, learning_rate: Rate, before: TACDescent, batch: Minibatch
) -> tuple[TACDescent, Metrics]:
    """One gradient step of all networks; the target then follows the new value network."""
    config, agent = setup.config, setup.agent
    gradient, metrics = gradients(config, agent, before.parameters, before.target, batch)
    direction, state = setup.rule.update(gradient, before.optimiser, before.parameters)
    parameters = jax.tree.map(
        lambda old, by: old - learning_rate * by, before.parameters, direction
    )
    after = TACDescent(
        parameters=parameters,
        optimiser=state,
        target=jax.tree.map(
            lambda behind, ahead: behind + config.target_rate * (ahead - behind),
            before.target,
            parameters.value,
        ),
        total=jax.tree.map(jnp.add, before.total, direction),
    )
    return after, {**metrics, "gradient_norm": optax.tree.norm(gradient)}


def _gradient(
    setup: TACSetup,
    parameters: TACParameters,
    memory: TACMemory,
    transitions: Transitions,
    key: PRNGKeyArray,
) -> TACParameters:
    """Gradient of the four losses on these transitions, whatever the replay holds."""
    present = transitions.present.astype(jnp.float32)
    batch = Minibatch(
        samples=samples_of(transitions),
        weight=present / jnp.maximum(jnp.sum(present), 1.0),
        noise=jax.random.normal(key, transitions.action.shape),
    )
    gradient, _ = gradients(setup.config, setup.agent, parameters, memory.target, batch)
    return gradient


def _acting(setup: TACSetup, parameters: TACParameters, memory: TACMemory) -> Acting:
    """The policy network; it gives its widths itself, so `log_std` is not used."""
    unused = jnp.zeros(setup.num_actions)
    return Acting(parameters.policy.weights, parameters.policy.biases, unused)


def _merge_memory(memory: TACMemory, average: Callable[[Tree], Tree]) -> TACMemory:
    """Where value networks are averaged, so are their targets; all else stays each agent's own."""
    return TACMemory(memory.optimiser, memory.replay, average(memory.target))
