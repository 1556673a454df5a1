"""Proximal policy optimisation, the paper's algorithm: a few clipped passes over each slot.

Of the details that reference implementations agree on, two are left out. Rewards are neither scaled
by a running spread nor clipped: every agent would then minimise a loss of its own, and a different
one in each slot, while the federation averages gradients of *one* loss. Observations are not
clipped (`normaliser` says why). The learning rate is the federation's, and so is its annealing.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fmarl.algorithms.actor_critic import ActorCritic, NetworkSpec, policy_outputs
from fmarl.algorithms.advantage import weighted_mean
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Algorithm, Metrics, Tree
from fmarl.algorithms.distributions import PolicyOutputs
from fmarl.algorithms.multi_step import descend
from fmarl.algorithms.on_policy import (
    OnPolicyConfig,
    OnPolicyLearner,
    check_on_policy,
    make_on_policy,
    require_within,
)
from fmarl.algorithms.on_policy_batch import (
    Experience,
    learned_advantage,
    log_ratio,
    minibatch,
    minibatch_rows,
    value_loss,
)
from fmarl.algorithms.optimisers import optimiser

Scalar = Float[Array, ""]


@dataclass(frozen=True, kw_only=True)
class PPOConfig(OnPolicyConfig):
    """How an agent learns from a slot by proximal policy optimisation."""

    clip_range: float = 0.2
    """ζ: how far a choice's probability may move in one slot. The paper's Table III has 0.2."""
    value_weight: float = 0.5
    """c1: weight of the critic's error in the loss. The paper leaves it open."""
    entropy_weight: float = 0.0
    """c2: reward for staying undecided. The paper leaves it open."""
    passes: int = 4
    """Times that a slot is learned from. The paper's Table III has 4; its bounds are about 1, for
    later passes see the noise of the first again."""
    minibatches: int = 1
    """Parts into which a slot is shuffled in every pass; 1 for the whole slot, in order."""
    clip_value_loss: float = 0.0
    """How far the critic's answer may move in one slot; 0 for any distance."""

    def __post_init__(self) -> None:
        check_on_policy(self)
        require_within("clip_range", self.clip_range, 1e-6, 1.0, "Use 0.2.")
        require_within("value_weight", self.value_weight, 0.0, 1e6, "Use 0.5.")
        require_within("entropy_weight", self.entropy_weight, 0.0, 1e6, "Use 0 or 0.01.")
        require_within("passes", self.passes, 1, 1000, "Use 4.")
        require_within("minibatches", self.minibatches, 1, 100_000, "Use 1 for the whole slot.")
        require_within("clip_value_loss", self.clip_value_loss, 0.0, 1e6, "Use 0 for no limit.")


class PPOSetup(NamedTuple):
    """What stays the same in a run: settings, shapes and the optimiser's rule."""

    config: PPOConfig
    spec: NetworkSpec
    rule: optax.GradientTransformation


def make_ppo(
    config: PPOConfig,
    agent: AgentConfig,
    *,
    observation_size: int,
    num_actions: int,
    is_discrete: bool,
) -> Algorithm:
    """Proximal policy optimisation for a world of these shapes.

    >>> ppo = make_ppo(
    ...     PPOConfig(), AgentConfig(), observation_size=6, num_actions=1, is_discrete=False
    ... )
    >>> parameters, memory = ppo.init(jax.random.key(0))
    >>> [weights.shape for weights in parameters.actor.weights]
    [(6, 64), (64, 64), (64, 1)]
    """
    spec = NetworkSpec(
        observation_size=observation_size,
        num_actions=num_actions,
        is_discrete=is_discrete,
        agent=agent,
    )
    setup = PPOSetup(config, spec, optimiser(agent.optimiser, agent.max_gradient_norm))
    return make_on_policy(
        OnPolicyLearner(
            config,
            spec,
            setup.rule.init,
            partial(_learn, setup),
            lambda parameters, experience: ppo_gradient(setup, parameters, experience)[0],
        )
    )


def ppo_loss(
    setup: PPOSetup, parameters: ActorCritic, experience: Experience
) -> tuple[Scalar, Metrics]:
    """What PPO minimises, and the numbers it is made of.

    Paper: Section III, below Eq. (1).  L(θ) = E_t[−J^Clip + c1 J^V − c2 S]
    """
    config, spec = setup.config, setup.spec
    intended = policy_outputs(spec, parameters, experience.observation)
    policy_loss, metrics = clipped_loss(setup, intended, experience)
    critic_loss = value_loss(spec, parameters.critic, experience, config.clip_value_loss)
    entropy = weighted_mean(spec.distribution.entropy(intended), experience.weight)
    loss = policy_loss + config.value_weight * critic_loss - config.entropy_weight * entropy
    return loss, {**metrics, "value_loss": critic_loss, "entropy": entropy}


def clipped_loss(
    setup: PPOSetup, intended: PolicyOutputs, experience: Experience
) -> tuple[Scalar, Metrics]:
    """Loss of the policy: no gain from moving a probability further than the clip range.

    Paper: Section III, below Eq. (1).  J^Clip = min(ρ A, clip(ρ, 1 − ζ, 1 + ζ) A), ρ = π_θ/π_old
    """
    clip_range, weight = setup.config.clip_range, experience.weight
    advantage = learned_advantage(experience, setup.config.normalise_advantages)
    moved = log_ratio(setup.spec, intended, experience)
    ratio = jnp.exp(moved)
    kept = jnp.clip(ratio, 1 - clip_range, 1 + clip_range)
    loss = -weighted_mean(jnp.minimum(ratio * advantage, kept * advantage), weight)
    is_outside = (jnp.abs(ratio - 1) > clip_range).astype(ratio.dtype)
    return loss, {
        "policy_loss": loss,
        "approx_kl": weighted_mean(ratio - 1 - moved, weight),
        "clip_fraction": weighted_mean(is_outside, weight),
    }


def ppo_gradient(
    setup: PPOSetup, parameters: ActorCritic, experience: Experience
) -> tuple[ActorCritic, Metrics]:
    """Gradient of the loss over some rows, with the loss's numbers.

    Paper: Eq. (3).  g(θ; ξ) = (1/|ξ|) Σ_{φ ∈ ξ} ∇L(θ; φ)
    """
    gradient, metrics = jax.grad(partial(ppo_loss, setup), has_aux=True)(parameters, experience)
    return gradient, {**metrics, "gradient_norm": optax.tree.norm(gradient)}


def _learn(
    setup: PPOSetup,
    parameters: ActorCritic,
    optimiser: Tree,
    experience: Experience,
    key: PRNGKeyArray,
    learning_rate: Scalar,
) -> tuple[ActorCritic, Tree, Metrics]:
    """Learn in several passes; the pseudo-gradient is the sum of their directions."""
    passes, parts = setup.config.passes, setup.config.minibatches
    rows = minibatch_rows(key, len(experience.weight), passes, parts)

    def gradient(
        parameters: ActorCritic, rows: Int[Array, " part"] | None
    ) -> tuple[ActorCritic, Metrics]:
        return ppo_gradient(setup, parameters, minibatch(experience, rows))

    end, reports = descend(
        setup.rule, gradient, learning_rate, parameters, optimiser, rows, passes * parts
    )
    # The last pass shows how far the update went; the first gradient is still the slot's own.
    metrics = {name: numbers[-parts:].mean() for name, numbers in reports.items()}
    metrics["gradient_norm"] = reports["gradient_norm"][0]
    return end.directions, end.optimiser, metrics
