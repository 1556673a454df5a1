"""Whole sets of settings under one name; flags change them one by one."""

from dataclasses import replace

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine.experiment import Experiment

PAPER = Experiment()
"""The paper's Table III. What it leaves open is chosen so that it learns: Adam, because plain SGD
at its η = 1e-4 hardly moves, and normalised advantages."""

PRINTED = Experiment(agent=AgentConfig(optimiser="sgd"), ppo=PPOConfig(normalise_advantages=False))
"""The paper word for word: plain SGD, nothing normalised."""

REFERENCE = Experiment(
    agent=AgentConfig(discount=0.99, max_gradient_norm=0.5),
    ppo=replace(
        PPOConfig(),
        gae_lambda=0.95,
        minibatches=4,
        entropy_weight=0.01,
        clip_value_loss=0.2,
        normalise_observations=True,
    ),
    anneal=True,
)
"""What the reference implementations of PPO agree on (Huang et al. 2022, "the 37 details")."""

PROFILES: dict[str, Experiment] = {"paper": PAPER, "printed": PRINTED, "reference": REFERENCE}
"""From the word of the command line to where the settings start from."""
