"""An algorithm of your own: advantage actor-critic (A2C), one step per slot.

From the command line, in this folder:
fmarl train gym:CartPole-v1 --algorithm own_algorithm:make_a2c --set-algorithm entropy_weight=0.01
"""

import tempfile
from dataclasses import dataclass
from typing import Any

import jax

import fmarl
from fmarl.algorithms.actor_critic import NetworkSpec, policy_outputs
from fmarl.algorithms.advantage import weighted_mean
from fmarl.algorithms.on_policy import OnPolicyConfig, OnPolicyLearner, make_on_policy
from fmarl.algorithms.on_policy_batch import learned_advantage, value_loss
from fmarl.algorithms.optimisers import optimiser


@dataclass(frozen=True, kw_only=True)
class A2CConfig(OnPolicyConfig):
    """Settings of its own, and those of every algorithm that forgets a slot once it is learned."""

    value_weight: float = 0.5
    entropy_weight: float = 0.0


def make_a2c(
    config: A2CConfig, agent: fmarl.AgentConfig, *, observation_size, num_actions, is_discrete
) -> fmarl.Algorithm:
    """How one agent learns in a world of these shapes."""
    spec = NetworkSpec(
        observation_size=observation_size,
        num_actions=num_actions,
        is_discrete=is_discrete,
        agent=agent,
    )
    rule = optimiser(agent.optimiser, agent.max_gradient_norm)

    def loss(parameters, experience):
        """Likelier what was better than expected; a critic nearer to what came; some chance."""
        intended = policy_outputs(spec, parameters, experience.observation)
        log_probability = spec.distribution.log_probability(intended, experience.action)
        advantage = learned_advantage(experience, config.normalise_advantages)
        policy_loss = -weighted_mean(log_probability * advantage, experience.weight)
        critic_loss = value_loss(spec, parameters.critic, experience)
        entropy = weighted_mean(spec.distribution.entropy(intended), experience.weight)
        total = policy_loss + config.value_weight * critic_loss - config.entropy_weight * entropy
        return total, {"policy_loss": policy_loss, "value_loss": critic_loss, "entropy": entropy}

    def learn(parameters, state, experience, key, learning_rate) -> Any:
        """The direction of one step, which the federation multiplies by η and applies."""
        gradient, metrics = jax.grad(loss, has_aux=True)(parameters, experience)
        direction, state = rule.update(gradient, state, parameters)
        return direction, state, metrics

    def gradient(parameters, experience):
        return jax.grad(loss, has_aux=True)(parameters, experience)[0]

    return make_on_policy(OnPolicyLearner(config, spec, rule.init, learn, gradient))


if __name__ == "__main__":
    experiment = fmarl.Experiment(
        world="gym:CartPole-v1",
        set=("num_agents=2", "epoch_steps=200"),
        algorithm="own_algorithm:make_a2c",
        set_algorithm=("entropy_weight=0.01", "gae_lambda=0.95"),
        agent=fmarl.AgentConfig(hidden=(32,), discount=0.99),
        together=fmarl.MethodConfig(sync_period=5, learning_rate=5e-3),
        num_epochs=40,
        steps_per_update=100,
        test_every=40,
    )
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        fmarl.train(experiment, f"{folder}/run", listen=lines.append)
    for line in lines:
        if line["kind"] == "test":
            returns = line["returns"]
            print(f"epoch {line['epoch']}: return {sum(returns) / len(returns):.0f}")
