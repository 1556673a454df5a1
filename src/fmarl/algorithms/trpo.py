"""Trust-region policy optimisation: one natural-gradient step per slot, as long as it is safe.

The actor steps as far as its choices may change (`target_kl`), the critic by several steps of Adam.
Neither asks for the federation's learning rate η, but what agents exchange is divided by it:
g = −(θ_after − θ_before)/η. So θ ← θ − η g is TRPO's own step, and the virtual agent averages the
accepted steps, decayed and mixed like any gradients.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from fmarl.algorithms.actor_critic import ActorCritic, NetworkSpec, policy_outputs
from fmarl.algorithms.advantage import weighted_mean
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Algorithm, Metrics, Tree
from fmarl.algorithms.distributions import PolicyOutputs
from fmarl.algorithms.multi_step import descend
from fmarl.algorithms.networks import Network
from fmarl.algorithms.on_policy import (
    OnPolicyConfig,
    OnPolicyLearner,
    check_on_policy,
    make_on_policy,
    require_within,
)
from fmarl.algorithms.on_policy_batch import Experience, learned_advantage, log_ratio, value_loss
from fmarl.algorithms.optimisers import optimiser
from fmarl.algorithms.trust_region import Region, line_search, natural_direction
from fmarl.errors import require

Scalar = Float[Array, ""]
KL_ORDERS = ("new-old", "old-new")


@dataclass(frozen=True, kw_only=True)
class TRPOConfig(OnPolicyConfig):
    """How an agent learns from a slot inside a trust region; the defaults are as in sb3-contrib."""

    target_kl: float = 0.01
    """How far one slot may change the policy: mean divergence from the old one, in nats."""
    kl_order: str = "new-old"
    """Which divergence that is: new-old for KL(new‖old), as in sb3-contrib, or old-new for
    KL(old‖new), as in TRPO's own paper; to second order they are the same."""
    cg_steps: int = 15
    """Conjugate-gradient steps towards the natural gradient."""
    cg_damping: float = 0.1
    """Added to the curvature's diagonal: the larger, the more like a plain gradient."""
    line_search_steps: int = 10
    """Step lengths that are tried, from long to short, before the actor stays where it is."""
    line_search_shrink: float = 0.8
    """Each length as a share of the one before."""
    critic_passes: int = 10
    """Steps of Adam that the critic takes per slot."""
    critic_learning_rate: float = 1e-3
    """Step size of the critic."""

    def __post_init__(self) -> None:
        check_on_policy(self)
        require_within("target_kl", self.target_kl, 1e-9, 1e3, "Use 0.01.")
        require(
            self.kl_order in KL_ORDERS,
            f"kl_order = {self.kl_order!r:.40}",
            " or ".join(KL_ORDERS),
            "Use new-old.",
        )
        require_within("cg_steps", self.cg_steps, 1, 10_000, "Use 15.")
        require_within("cg_damping", self.cg_damping, 0.0, 1e6, "Use 0.1.")
        require_within("line_search_steps", self.line_search_steps, 1, 1000, "Use 10.")
        require_within("line_search_shrink", self.line_search_shrink, 0.01, 0.99, "Use 0.8.")
        require_within("critic_passes", self.critic_passes, 1, 10_000, "Use 10.")
        rate = self.critic_learning_rate
        require_within("critic_learning_rate", rate, 0.0, 1e3, "Use 0.001.")


class TRPOSetup(NamedTuple):
    """What stays the same in a run: settings, shapes and the critic's optimiser."""

    config: TRPOConfig
    spec: NetworkSpec
    critic_rule: optax.GradientTransformation


def make_trpo(
    config: TRPOConfig,
    agent: AgentConfig,
    *,
    observation_size: int,
    num_actions: int,
    is_discrete: bool,
) -> Algorithm:
    """Trust-region policy optimisation for a world of these shapes.

    The agent's `optimiser` is not used: the actor has none, and the critic's is Adam.
    """
    spec = NetworkSpec(
        observation_size=observation_size,
        num_actions=num_actions,
        is_discrete=is_discrete,
        agent=agent,
    )
    setup = TRPOSetup(config, spec, optimiser("adam", agent.max_gradient_norm))
    return make_on_policy(
        OnPolicyLearner(
            config,
            spec,
            lambda parameters: setup.critic_rule.init(parameters.critic),
            partial(_learn, setup),
            jax.grad(partial(trpo_loss, setup)),
        )
    )


def surrogate(setup: TRPOSetup, experience: Experience, intended: PolicyOutputs) -> Scalar:
    """How much better than the old policy the new one promises to be: E_t[π_θ/π_old · A]."""
    ratio = jnp.exp(log_ratio(setup.spec, intended, experience))
    advantage = learned_advantage(experience, setup.config.normalise_advantages)
    return weighted_mean(ratio * advantage, experience.weight)


def trpo_loss(setup: TRPOSetup, parameters: ActorCritic, experience: Experience) -> Scalar:
    """What a step decreases, actor and critic together."""
    intended = policy_outputs(setup.spec, parameters, experience.observation)
    critic_loss = value_loss(setup.spec, parameters.critic, experience)
    return critic_loss - surrogate(setup, experience, intended)


def trust_region(setup: TRPOSetup, parameters: ActorCritic, experience: Experience) -> Region:
    """Policies that promise more, and a mean divergence, which says how far away they are.

    The divergence of an action of several numbers is the sum of theirs; sb3-contrib takes their
    mean, which makes its region wider.
    """
    spec, weight = setup.spec, experience.weight
    old = policy_outputs(spec, parameters, experience.observation)
    divergence = spec.distribution.divergence

    def mean_divergence(new: PolicyOutputs) -> Scalar:
        pair = (new, old) if setup.config.kl_order == "new-old" else (old, new)
        return weighted_mean(divergence(*pair), weight)

    return Region(
        model=lambda point: policy_outputs(spec, point, experience.observation),
        gain=partial(surrogate, setup, experience),
        divergence=mean_divergence,
        radius=setup.config.target_kl,
    )


def _actor_step(
    setup: TRPOSetup, parameters: ActorCritic, experience: Experience
) -> tuple[ActorCritic, Metrics]:
    """Find a safe step; it is zero if there was none, and always zero for the critic."""
    config = setup.config
    region = trust_region(setup, parameters, experience)
    gradient = jax.grad(lambda point: region.gain(region.model(point)))(parameters)
    way = natural_direction(region, parameters, gradient, config.cg_steps, config.cg_damping)
    found = line_search(
        region, parameters, way, config.line_search_shrink, config.line_search_steps
    )
    step = jax.tree.map(lambda leaf: jnp.where(found.is_safe, found.length * leaf, 0.0), way)
    entropy = setup.spec.distribution.entropy(region.model(parameters))
    return step, {
        "policy_loss": -found.gain,
        "kl": found.divergence,
        "entropy": weighted_mean(entropy, experience.weight),
        "accepted": found.is_safe.astype(jnp.float32),
        "gradient_norm": optax.tree.norm(gradient),
    }


def _learn(
    setup: TRPOSetup,
    parameters: ActorCritic,
    optimiser: Tree,
    experience: Experience,
    key: PRNGKeyArray,
    learning_rate: Scalar,
) -> tuple[ActorCritic, Tree, Metrics]:
    """One step of the actor and several of the critic, as g = −step/η; the key is not used."""
    step, metrics = _actor_step(setup, parameters, experience)
    rate, passes = setup.config.critic_learning_rate, setup.config.critic_passes
    gradient = partial(_critic_gradient, setup, experience)
    critic, reports = descend(
        setup.critic_rule, gradient, rate, parameters.critic, optimiser, None, passes
    )
    step = step._replace(critic=jax.tree.map(lambda way: -rate * way, critic.directions))
    # An annealed rate may end at zero, and then nothing can move.
    per_rate = jnp.where(learning_rate > 0, 1 / learning_rate, 0.0)
    pseudo_gradient = jax.tree.map(lambda way: -per_rate * way, step)
    return pseudo_gradient, critic.optimiser, {**metrics, "value_loss": reports["value_loss"][-1]}


def _critic_gradient(
    setup: TRPOSetup, experience: Experience, critic: Network, batch: None
) -> tuple[Network, Metrics]:
    loss, gradient = jax.value_and_grad(partial(value_loss, setup.spec))(critic, experience)
    return gradient, {"value_loss": loss}
