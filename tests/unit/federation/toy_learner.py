"""A learner small enough to follow by hand: one noisy gradient per slot, plain or through Adam."""

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.optimisers import optimiser
from fmarl.federation.delayed import nothing_in_flight
from fmarl.federation.method import Method
from fmarl.federation.stages import make_stages
from fmarl.federation.update import LocalLearner, TrainState, federated_update
from oracles.slots import bumpy_gradient

ADAM = optimiser("adam")


def _plain(row, memory, noise, key, learning_rate):
    return _gradient(row) + noise[0], memory + 1, {"loss": jnp.sum(row**2)}


def _with_adam(row, memory, noise, key, learning_rate):
    step, memory = ADAM.update(_gradient(row) + noise[0], memory)
    return step, memory, {}


def _gradient(row):
    return 2 * row / jnp.square(1 + row**2)


def _keep(memory, average):
    return memory


PLAIN = LocalLearner(_plain, _keep)
ADAPTIVE = LocalLearner(_with_adam, _keep)
PLAIN_STAGES = make_stages(PLAIN)
ADAPTIVE_STAGES = make_stages(ADAPTIVE)


def begin(method: Method, start: np.ndarray, adam: bool = False) -> TrainState:
    rows = jnp.tile(jnp.asarray(start, jnp.float32), (method.num_agents, 1))
    memory = jax.vmap(ADAM.init)(rows) if adam else jnp.zeros(method.num_agents)
    return TrainState(rows, memory, jnp.zeros((), jnp.int32), nothing_in_flight(method, rows))


def run(method: Method, start: np.ndarray, noise: np.ndarray, adam: bool = False) -> list:
    """States after each slot; `noise` has the axes slot, agent, parameter."""
    state, states = begin(method, start, adam), []
    stages = ADAPTIVE_STAGES if adam else PLAIN_STAGES
    for own in noise:
        state = jax.tree.map(jnp.copy, state)  # an update uses up the memory it is given
        state, _ = federated_update(
            method, stages, state, own[None].astype(np.float32), jax.random.key(0)
        )
        states.append(state)
    return states


def rows_of(states: list) -> np.ndarray:
    return np.array([state.parameters for state in states])


__all__ = ["begin", "bumpy_gradient", "rows_of", "run"]
