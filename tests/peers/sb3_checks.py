"""Is a record of `record_sb3` what our PPO and TRPO compute? Needs no torch."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from fmarl.algorithms import ppo, trpo
from fmarl.algorithms.actor_critic import ActorCritic, NetworkSpec
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Transitions
from fmarl.algorithms.multi_step import descend
from fmarl.algorithms.networks import Network
from fmarl.algorithms.on_policy_batch import Experience, make_experience, minibatch, parted
from fmarl.algorithms.optimisers import optimiser
from fmarl.algorithms.trust_region import curvature_product

TOLERANCE = 1e-5
"""Largest difference in a leaf of a gradient, as a share of the whole gradient's norm."""
UPDATE_TOLERANCE = 1e-4
"""The same for the way that several steps lead: their roundings add up."""


class Record(NamedTuple):
    """One slot of one agent of Stable-Baselines3."""

    settings: dict[str, Any]
    arrays: dict[str, jax.Array]

    @property
    def spec(self) -> NetworkSpec:
        fields = ("observation_size", "num_actions", "is_discrete")
        hidden = tuple(self.settings["hidden"])
        agent = AgentConfig(hidden=hidden, **self.settings["agent"])
        return NetworkSpec(agent=agent, **{name: self.settings[name] for name in fields})

    @property
    def transitions(self) -> Transitions:
        rows = {key[4:]: array for key, array in self.arrays.items() if key.startswith("row ")}
        return Transitions(present=jnp.ones(len(rows["reward"]), bool), **rows)

    def tree(self, name: str) -> ActorCritic:
        """Parameters, or something of their shape."""
        nothing = jnp.zeros(0, jnp.float32)
        log_std = self.arrays.get(f"{name} log_std", nothing)
        return ActorCritic(self._network(f"{name} actor"), self._network(f"{name} critic"), log_std)

    def _network(self, name: str) -> Network:
        layers = range(len(self.settings["hidden"]) + 1)
        weights, biases = (
            tuple(self.arrays[f"{name} {part} {layer}"] for layer in layers)
            for part in ("weights", "biases")
        )
        return Network(weights, biases)


def load(path: Path) -> Record:
    """Read a record; nothing in it is code."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    settings = json.loads(str(arrays.pop("settings")))
    return Record(settings, {name: jnp.asarray(array) for name, array in arrays.items()})


def check_judgement(record: Record) -> None:
    """Values, log-probabilities, advantages and targets are theirs."""
    experience = _experience(record)
    for name in ("value", "log_probability", "advantage", "value_target"):
        ours, theirs = getattr(experience, name), record.arrays[name]
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6, err_msg=name)


def check_ppo_gradient(record: Record) -> None:
    """So are PPO's loss, each number in it, and its gradient, away from where the agent acted."""
    learner, moved, experience = _ppo(record), record.tree("moved"), _experience(record)
    loss, metrics = ppo.ppo_loss(learner, moved, experience)
    gradient, _ = jax.jit(partial(ppo.ppo_gradient, learner))(moved, experience)
    theirs = {**record.arrays, "entropy": -record.arrays["negative_entropy"]}
    assert theirs["clip_fraction"] > 0.1, "a record in which nothing is clipped proves little"
    for name, number in {**metrics, "loss": loss}.items():
        np.testing.assert_allclose(number, theirs[name], rtol=1e-5, atol=1e-6, err_msg=name)
    assert_close(gradient, record.tree("gradient"))


def check_ppo_update(record: Record) -> None:
    """So is where PPO's optimiser leads, over all passes and minibatches."""
    learner, start, experience = _ppo(record), record.tree("start"), _experience(record)
    parts = learner.config.minibatches
    rows = parted(record.arrays["orders"].astype(jnp.int32), parts) if parts > 1 else None
    end, _ = descend(
        learner.rule,
        lambda place, chosen: ppo.ppo_gradient(learner, place, minibatch(experience, chosen)),
        record.settings["learning_rate"],
        start,
        learner.rule.init(start),
        rows,
        learner.config.passes * parts,
    )
    way, expected = (_difference(place, start) for place in (end.parameters, record.tree("end")))
    assert_close(way, expected, UPDATE_TOLERANCE)


def check_trust_region(record: Record) -> None:
    """TRPO's gradient and its product with the damped Fisher matrix are theirs."""
    learner, start = _trpo(record), record.tree("start")
    region = trpo.trust_region(learner, start, _experience(record))
    gradient = jax.jit(jax.grad(lambda place: region.gain(region.model(place))))(start)
    assert_close(gradient, record.tree("gradient"))
    product = jax.jit(curvature_product(region, start, learner.config.cg_damping))
    shares = _divergence_shares(record)
    expected = jax.tree.map(lambda leaf: shares * leaf, record.tree("product"))
    assert_close(product(record.tree("vector")), expected)


def check_trpo_update(record: Record) -> None:
    """So are the step inside the trust region and those of the critic."""
    start, rate, key = record.tree("start"), jnp.float32(0.01), jax.random.key(0)
    spec = record.spec
    algorithm = trpo.make_trpo(
        _trpo(record).config,
        spec.agent,
        observation_size=spec.observation_size,
        num_actions=spec.num_actions,
        is_discrete=spec.is_discrete,
    )
    _, memory = algorithm.init(key)
    update = jax.jit(algorithm.local_update)
    step, _, metrics = update(start, memory, record.transitions, key, rate)
    way = jax.tree.map(lambda leaf: -rate * leaf, step)
    expected = _difference(record.tree("end"), start)
    assert_close(way, expected, UPDATE_TOLERANCE)
    kl = _divergence_shares(record) * record.arrays["kl"]
    np.testing.assert_allclose(metrics["kl"], kl, rtol=2e-3)
    np.testing.assert_allclose(-metrics["policy_loss"], record.arrays["gain"], rtol=2e-3)


def assert_close(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    """Every leaf differs by less than a share of the whole tree's norm."""
    norm = float(optax.tree.norm(theirs))
    assert norm > 0
    for (path, leaf), other in zip(
        jax.tree_util.tree_leaves_with_path(ours), jax.tree.leaves(theirs), strict=True
    ):
        difference = float(jnp.linalg.norm((leaf - other).ravel()))
        assert difference <= tolerance * norm, f"{path}: {difference / norm:.1e} of the norm"


def _ppo(record: Record) -> ppo.PPOSetup:
    agent = record.spec.agent
    rule = optimiser(agent.optimiser, agent.max_gradient_norm)
    return ppo.PPOSetup(ppo.PPOConfig(**record.settings["learning"]), record.spec, rule)


def _trpo(record: Record) -> trpo.TRPOSetup:
    """Ours with enough steps to solve for the direction, in their unit of divergence."""
    shares, config = _divergence_shares(record), trpo.TRPOConfig(**record.settings["learning"])
    config = replace(
        config,
        cg_steps=100,
        cg_damping=shares * config.cg_damping,
        target_kl=shares * config.target_kl,
    )
    return trpo.TRPOSetup(config, record.spec, optimiser("adam"))


def _divergence_shares(record: Record) -> int:
    """By how much their divergence is smaller than the Kullback–Leibler divergence.

    sb3-contrib takes the mean over the numbers of a Gaussian action, where the divergence of
    independent numbers is their sum.
    """
    return 1 if record.settings["is_discrete"] else record.settings["num_actions"]


def _experience(record: Record) -> Experience:
    """Our judgement of their rows."""
    gae_lambda = record.settings["learning"]["gae_lambda"]
    return make_experience(record.spec, record.tree("start"), None, record.transitions, gae_lambda)


def _difference(end: Any, start: Any) -> Any:
    return jax.tree.map(jnp.subtract, end, start)
