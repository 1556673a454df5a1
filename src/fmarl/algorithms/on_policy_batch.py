"""What a slot teaches, worked out once with the parameters it was acted with; passes read it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fmarl.algorithms.actor_critic import ActorCritic, NetworkSpec, policy_outputs, values
from fmarl.algorithms.advantage import advantages, normalised, weighted_mean
from fmarl.algorithms.algorithm import Metrics, Transitions
from fmarl.algorithms.distributions import PolicyOutputs
from fmarl.algorithms.networks import Network
from fmarl.algorithms.normaliser import Statistics, normalise


class Experience(eqx.Module):
    """Rows of one agent, whole or a minibatch of them."""

    observation: Float[Array, "time observation"]
    """As the networks want it: normalised, if the agent normalises."""
    action: Float[Array, "time action"]
    weight: Float[Array, " time"]
    """1 where the agent was there, else 0: such rows count for nothing."""
    log_probability: Float[Array, " time"]
    """Of the action, when it was taken."""
    value: Float[Array, " time"]
    """What the critic expected then."""
    advantage: Float[Array, " time"]
    """How much better it came; not normalised."""

    @property
    def value_target(self) -> Float[Array, " time"]:
        """What the critic should have expected."""
        return self.value + self.advantage


def make_experience(
    spec: NetworkSpec,
    parameters: ActorCritic,
    statistics: Statistics | None,
    transitions: Transitions,
    gae_lambda: float,
) -> Experience:
    """A slot with what the parameters it was acted with expected of it."""
    observation = normalise(statistics, transitions.observation)
    successor = normalise(statistics, transitions.successor)
    expected = values(spec, parameters.critic, observation)
    foreseen = values(spec, parameters.critic, successor)
    intended = policy_outputs(spec, parameters, observation)
    return Experience(
        observation=observation,
        action=transitions.action,
        weight=transitions.present.astype(transitions.reward.dtype),
        log_probability=spec.distribution.log_probability(intended, transitions.action),
        value=expected,
        advantage=advantages(transitions, expected, foreseen, spec.agent.discount, gae_lambda),
    )


def minibatch_rows(
    key: PRNGKeyArray, num_rows: int, passes: int, minibatches: int
) -> Int[Array, "step part"] | None:
    """Which rows each step learns from, shuffled anew in every pass; None means all, in order."""
    if minibatches == 1:
        return None
    pass_keys = jax.random.split(key, passes)
    orders = jax.vmap(lambda own: jax.random.permutation(own, num_rows))(pass_keys)
    return parted(orders, minibatches)


def parted(orders: Int[Array, "pass row"], minibatches: int) -> Int[Array, "step part"]:
    """Cut each pass into equal parts; the last is filled up with numbers past the end.

    >>> parted(jnp.array([[3, 0, 4, 1, 2]]), minibatches=3).tolist()
    [[3, 0], [4, 1], [2, 5]]
    """
    passes, num_rows = orders.shape
    size = -(-num_rows // minibatches)
    missing = size * minibatches - num_rows
    filled = jnp.pad(orders, ((0, 0), (0, missing)), constant_values=num_rows)
    return filled.reshape(passes * minibatches, size)


def minibatch(experience: Experience, rows: Int[Array, " part"] | None) -> Experience:
    """Pick some rows; a number past the end gives zeros, which weigh nothing."""
    if rows is None:
        return experience
    return jax.tree.map(lambda column: column.at[rows].get(mode="fill", fill_value=0), experience)


def log_ratio(
    spec: NetworkSpec, intended: PolicyOutputs, experience: Experience
) -> Float[Array, " time"]:
    """How much likelier each action has become since it was taken: log π_θ(a|s)/π_old(a|s)."""
    now = spec.distribution.log_probability(intended, experience.action)
    return now - experience.log_probability


def learned_advantage(experience: Experience, normalise_advantages: bool) -> Float[Array, " time"]:
    """Advantages as a policy learns from them."""
    if normalise_advantages:
        return normalised(experience.advantage, experience.weight)
    return experience.advantage


def value_loss(
    spec: NetworkSpec, critic: Network, experience: Experience, clip: float = 0.0
) -> Float[Array, ""]:
    """Mean squared error of the critic.

    Paper: Section III, below Eq. (1).  J^V = (V(s_t) − V_target)², where V_target is left open.

    Here V_target = V_old(s_t) + A_t. With `clip` above zero the critic's answer counts as if it had
    moved no further than that since the slot was acted, as in Stable-Baselines3. (Older codes take
    the larger of both errors.)
    """
    now = values(spec, critic, experience.observation)
    if clip > 0:
        now = experience.value + jnp.clip(now - experience.value, -clip, clip)
    return weighted_mean((now - experience.value_target) ** 2, experience.weight)


def diagnostics(parameters: ActorCritic, experience: Experience) -> Metrics:
    """How well the critic foresaw the slot, and how widely the actor explored in it.

    The explained variance is the share of the targets' variance that the critic foresaw: 1 is all,
    0 or less is none.
    """
    total = _variance(experience.value_target, experience.weight)
    missed = _variance(experience.advantage, experience.weight)
    foreseen = jnp.where(total > 0, 1 - missed / jnp.where(total > 0, total, 1.0), 0.0)
    metrics = {"explained_variance": foreseen}
    if parameters.log_std.size:
        metrics["std"] = jnp.exp(parameters.log_std).mean()
    return metrics


def _variance(rows: Float[Array, " time"], weight: Float[Array, " time"]) -> Float[Array, ""]:
    return weighted_mean((rows - weighted_mean(rows, weight)) ** 2, weight)
