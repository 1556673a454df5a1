"""Compares the Tsallis actor-critic near q = 1 with what a soft actor-critic computed elsewhere.

tests/peers/record_sac.py writes the files; reading them needs neither torch nor pickle.
"""

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.networks import Network, forward
from fmarl.algorithms.replay import Samples
from fmarl.algorithms.squashed_gaussian import draw, squashed
from fmarl.algorithms.tac_config import TACConfig
from fmarl.algorithms.tac_losses import Minibatch, TACParameters, gradients

RECORDS = sorted(Path(__file__).parent.glob("*.npz"))
TOLERANCE = 1e-5


def read(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as record:
        return dict(record)


def assert_same_as_sac(record: dict[str, np.ndarray], entropic_index: float) -> None:
    """Losses agree to 1e-5; log-probabilities and networks' gradients, to 1e-5 of their norm."""
    agent = AgentConfig(discount=float(record["discount"]), activation=str(record["activation"]))
    config = TACConfig(
        entropic_index=entropic_index, entropy_weight=float(record["entropy_weight"])
    )
    parameters, target = _parameters("parameters", record), _network("parameters target", record)
    batch = _batch(record)

    found, metrics = jax.jit(partial(gradients, config, agent))(parameters, target, batch)

    for name, expected in _parameters("gradient", record)._asdict().items():
        _assert_close(name, ravel_pytree(getattr(found, name))[0], ravel_pytree(expected)[0])
    for name in ("policy_loss", "critic_loss", "value_loss"):
        assert abs(float(metrics[name]) - float(record[name])) < TOLERANCE, name
    policy = squashed(forward(parameters.policy, agent.activation, batch.samples.observation))
    _, log_densities = draw(policy, batch.noise)
    _assert_close("log_probability", jnp.sum(log_densities, axis=1), record["log_probability"])


def _assert_close(name: str, found: jax.Array, expected: jax.Array | np.ndarray) -> None:
    off = np.linalg.norm(np.asarray(found) - np.asarray(expected)) / np.linalg.norm(expected)
    assert off < TOLERANCE, f"{name} is off by {off}"


def _batch(record: dict[str, np.ndarray]) -> Minibatch:
    numbers = {
        name: jnp.asarray(record[name], jnp.float32)
        for name in ("observation", "successor", "action", "reward")
    }
    samples = Samples(**numbers, terminated=jnp.asarray(record["terminated"]))
    rows = len(record["reward"])
    return Minibatch(samples, jnp.full(rows, 1 / rows), jnp.asarray(record["noise"], jnp.float32))


def _parameters(kind: str, record: dict[str, np.ndarray]) -> TACParameters:
    names = TACParameters._fields
    return TACParameters(*(_network(f"{kind} {name}", record) for name in names))


def _network(prefix: str, record: dict[str, np.ndarray]) -> Network:
    depth = sum(name.startswith(f"{prefix} weights") for name in record)
    weights, biases = (
        tuple(
            jnp.asarray(record[f"{prefix} {part} {layer}"], jnp.float32) for layer in range(depth)
        )
        for part in ("weights", "biases")
    )
    return Network(weights, biases)
