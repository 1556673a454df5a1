"""The compiled part of a run: an algorithm for one agent, mapped over all, under any method.

Everything here is compiled once per set of shapes and serves every method of those shapes; compiled
programs are kept on disk, so that the next run starts at once.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from fmarl.algorithms.algorithm import Acting, Algorithm, Transitions, Tree
from fmarl.federation.aggregation import aggregate_rows, aggregate_tree
from fmarl.federation.delayed import nothing_in_flight
from fmarl.federation.ledger import MessageSizes
from fmarl.federation.method import Method
from fmarl.federation.stages import make_stages
from fmarl.federation.update import LocalLearner, Stages, TrainState
from fmarl.rollout.seeds import derived_seed

FLOAT_BYTES = 4


class Program(NamedTuple):
    """Compiled functions of one algorithm for a number of agents."""

    init: Callable[[Method, PRNGKeyArray], TrainState]
    """All agents with the same parameters: θ̄_0."""
    stages: Stages
    """The parts of a slot of learning."""
    means: Callable[..., dict[str, Float[Array, ""]]]
    """`(metrics, active)`: means over the agents that finished a step."""
    act: Callable[[Any, Tree], Acting]
    """What one agent acts with, given its parameters and its memory."""
    mean_acting: Callable[[Method, TrainState], Acting]
    """What they act with in tests: the parameters that an average would give them now."""
    gradient_norm: Callable[[TrainState, Transitions, PRNGKeyArray], Float[Array, ""]]
    """‖∇F(θ̄)‖² on a sample set, whose slots are the first axis."""
    sizes: MessageSizes
    """Bytes that are sent at a time."""


@cache
def make_program(algorithm: Algorithm, num_agents: int) -> Program:
    """What a run of this algorithm needs, compiled when first called; one for all runs of it."""
    parameters, memory = jax.eval_shape(algorithm.init, jax.random.key(0))
    _, restore = ravel_pytree(jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), parameters))
    stages = make_stages(
        LocalLearner(partial(_local_update, algorithm, restore), algorithm.merge_memory)
    )
    act = jax.jit(lambda row, memory: algorithm.acting(restore(row), memory))
    return Program(
        init=jax.jit(partial(_init, algorithm, num_agents)),
        stages=stages,
        means=_means,
        act=act,
        mean_acting=jax.jit(partial(_mean_acting, algorithm, restore)),
        gradient_norm=jax.jit(partial(expected_gradient_norm, algorithm, restore)),
        sizes=_sizes(algorithm, parameters, memory, num_agents),
    )


def learning_keys(seed: int) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Chance in learning, and in the first parameters."""
    return (
        jax.random.key(derived_seed(seed, "learning")),
        jax.random.key(derived_seed(seed, "parameters")),
    )


def keep_compiled_programs(folder: Path | None = None) -> None:
    """Keep compiled programs where JAX is told to, or in the user's cache folder if writable."""
    if folder is None and jax.config.jax_compilation_cache_dir:  # type: ignore[attr-defined]
        return
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = folder or home / "fmarl" / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # a run without a cache only starts later
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def _local_update(
    algorithm: Algorithm,
    restore: Callable[[Array], Tree],
    row: Float[Array, " parameter"],
    memory: Tree,
    transitions: Transitions,
    key: PRNGKeyArray,
    learning_rate: Float[Array, ""],
) -> tuple[Float[Array, " parameter"], Tree, dict[str, Array]]:
    step, memory, metrics = algorithm.local_update(
        restore(row), memory, transitions, key, learning_rate
    )
    return ravel_pytree(step)[0], memory, metrics


def _init(algorithm: Algorithm, num_agents: int, method: Method, key: PRNGKeyArray) -> TrainState:
    parameters, memory = algorithm.init(key)
    row = ravel_pytree(parameters)[0]
    rows, memory = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (num_agents, *leaf.shape)), (row, memory)
    )
    return TrainState(rows, memory, jnp.zeros((), jnp.int32), nothing_in_flight(method, rows))


@jax.jit
def _means(
    metrics: dict[str, Float[Array, " agent"]], active: Bool[Array, " agent"]
) -> dict[str, Float[Array, ""]]:
    """NaN if nobody finished a step."""
    count = active.sum().astype(jnp.float32)
    return {name: jnp.where(active, own, 0.0).sum() / count for name, own in metrics.items()}


def _mean_acting(
    algorithm: Algorithm, restore: Callable[[Array], Tree], method: Method, state: TrainState
) -> Acting:
    period = (state.update_count - 1) // method.sync_period
    memory = algorithm.merge_memory(state.memory, partial(aggregate_tree, method, period))
    rows = aggregate_rows(method, period, state.parameters)
    return jax.vmap(lambda row, own: algorithm.acting(restore(row), own))(rows, memory)


def expected_gradient_norm(
    algorithm: Algorithm,
    restore: Callable[[Array], Tree],
    state: TrainState,
    samples: Transitions,
    key: PRNGKeyArray,
) -> Float[Array, ""]:
    """How far from a standstill the average parameters are, on samples that do not change.

    Paper: Eqs. (8), (9) and (12).  ‖∇F(θ̄)‖²,  F(θ) = (1/|ξ|) Σ_φ L(θ; φ)
    Differs from the paper: the ratio π_θ/π_θold is 1, that is, the loss is taken as at the first
    pass over a batch; samples of a long gone policy would be clipped away.
    """
    parameters = restore(state.parameters.mean(axis=0))

    def gradient(memory: Tree, transitions: Transitions) -> Float[Array, " parameter"]:
        return ravel_pytree(algorithm.gradient(parameters, memory, transitions, key))[0]

    of_agents = jax.vmap(gradient, in_axes=(0, 1))
    of_slots = jax.lax.map(lambda slot: of_agents(state.memory, slot).mean(axis=0), samples)
    return jnp.sum(of_slots.mean(axis=0) ** 2)


def _sizes(algorithm: Algorithm, parameters: Tree, memory: Tree, num_agents: int) -> MessageSizes:
    """Bytes of a gradient, and of all that an average needs from one agent."""
    shared: list[int] = []

    def average(tree: Tree) -> Tree:
        shared.append(sum(leaf.size for leaf in jax.tree.leaves(tree)) // num_agents)
        return tree

    rows = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct((num_agents, *leaf.shape), leaf.dtype), memory
    )
    jax.eval_shape(lambda tree: algorithm.merge_memory(tree, average), rows)
    size = sum(leaf.size for leaf in jax.tree.leaves(parameters))
    return MessageSizes(upload=FLOAT_BYTES * (size + sum(shared)), exchange=FLOAT_BYTES * size)
