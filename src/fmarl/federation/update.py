"""One federated update of all agents: the whole method on one screen."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fmarl.federation.delayed import InFlight
from fmarl.federation.method import Method
from fmarl.federation.robust import attacked
from fmarl.federation.row_ops import IN_ORDER, Row, Rows, all_finite, combine_rows


class TrainState(eqx.Module):
    """Everything that learning changes. First axis: the agent."""

    parameters: Rows
    """Θ: one row of parameters per agent."""
    memory: Any
    """What each agent keeps for itself: optimiser state, replay, targets."""
    update_count: Int[Array, ""]
    """k: slots learned so far."""
    mail: InFlight | None
    """What is under way, for methods with delays."""


class LocalLearner(NamedTuple):
    """What an update needs to know of an algorithm: how one agent learns, and what is shared."""

    local_update: Callable[..., tuple[Any, Any, dict[str, Array]]]
    """`(row, memory, transitions, key, learning_rate)` to a row of pseudo-gradient, new memory and
    metrics, for one agent."""
    merge_memory: Callable[[Any, Callable[[Any], Any]], Any]
    """What becomes of the memories when parameters are averaged."""


class LocalResult(NamedTuple):
    """What one agent found in a slot; or all of them, as a first axis."""

    step: Row
    """The pseudo-gradient as far as it counts; zeros for an idle agent."""
    memory: Any
    metrics: dict[str, Float[Array, ""]]
    active: Bool[Array, ""]
    """Whether it finished a step."""
    finite: Bool[Array, ""]
    """Whether its step was made of finite numbers; if not it counts as idle."""


class Stages(NamedTuple):
    """What happens in a slot, each a compiled program of its own (`stages.py` makes them).

    `learn` and `mix` are for one agent: here they are called once per agent, and on a cluster every
    agent calls them in its own process. The same program gives the same bits; compiled together
    with others, a product and a sum may be melted into one rounding. Past `IN_ORDER` agents there
    are programs for all agents at once, which are faster and promise no such thing.
    """

    learn: Callable[..., LocalResult]
    """`(method, agent, row, memory, transitions, key, update_count)`; the memory is used up."""
    learn_all: Callable[..., LocalResult]
    """The same of all agents and their rows."""
    mix: Callable[..., Row]
    """`(weights, rows)`: of one agent and its neighbours."""
    mix_all: Callable[[Method, Rows], Rows]
    move: Callable[[Method, Any, Any], Any]
    """`(method, parameters, steps)`: of one agent or of all."""
    average: Callable[..., Rows]
    """`(method, period, rows)`: what the virtual agent does when a period is over."""
    shared: Callable[[Any], Rows | None]
    """What is averaged of the agents' memories beside the parameters; None if nothing is."""
    adopt: Callable[[Any, Rows | None], Any]
    """Memories with the average of what they share."""
    deliver: Callable[..., tuple[Rows, InFlight]]
    """`(method, mail, parameters, steps, update_count)`: with delays, instead of an average."""


def federated_update(
    method: Method, stages: Stages, state: TrainState, transitions: Any, key: PRNGKeyArray
) -> tuple[TrainState, LocalResult]:
    """Let every agent learn from its slot, exchange what it found, step, and average when due.

    Paper: Eqs. (4), (5), (16), (18), (24).  θ_i ← θ_i − η Σ_l [W_E ⋯ W_1]_il D(y) I(τ_l > y) g_l
    Differs from the paper: k counts slots, not agents, and averages follow when (k+1) mod τ = 0
    (E8, E12); idle agents apply the mixed row too, or the mean would not be kept (E9).
    """
    result = _learned(method, stages, state, transitions, key)
    steps = _mixed(method, stages, jnp.asarray(result.step))
    parameters, memory, mail = _finished(method, stages, state, steps, result.memory)
    return TrainState(parameters, memory, state.update_count + 1, mail), result


def _learned(
    method: Method, stages: Stages, state: TrainState, transitions: Any, key: PRNGKeyArray
) -> LocalResult:
    """Every agent learns alone, from its own transitions (the second axis; the first is time)."""
    agents, count = len(state.parameters), state.update_count
    if agents > IN_ORDER:
        everybody = (np.arange(agents, dtype=np.int32), state.parameters, state.memory)
        return stages.learn_all(method, *everybody, transitions, key, count)
    selves = unstacked((state.parameters, state.memory), agents)
    lived = unstacked(transitions, agents, axis=1)
    return stacked(
        [
            stages.learn(method, np.int32(agent), *selves[agent], lived[agent], key, count)
            for agent in range(agents)
        ]
    )


def _mixed(method: Method, stages: Stages, rows: Rows) -> Rows:
    """Neighbours exchange what they found, one round after another."""
    if len(rows) > IN_ORDER:
        return stages.mix_all(method, rows) if len(method.mixing) > 0 else rows
    for matrix in np.asarray(method.mixing):
        found = np.asarray(rows)
        near = [neighbours(weights, agent) for agent, weights in enumerate(matrix)]
        mixed = [stages.mix(row[own], found[own]) for row, own in zip(matrix, near, strict=True)]
        rows = jnp.asarray(stacked(mixed))
    return rows


def neighbours(weights: Float[np.ndarray, " agent"], agent: int) -> list[int]:
    """An agent and those whose gradients it mixes in, in order.

    >>> neighbours(np.array([0.5, 0, 0, 0.5]), agent=1)
    [0, 1, 3]
    """
    return [*map(int, np.flatnonzero((weights != 0) | (np.arange(len(weights)) == agent)))]


def _finished(
    method: Method, stages: Stages, state: TrainState, steps: Rows, memory: Any
) -> tuple[Rows, Any, InFlight | None]:
    """Step, and when the period is over average; with delays, send and receive instead.

    Paper: Eqs. (11), (19) and (25).  θ̄ = (1/m) Σ_i θ_i after slot τ−1
    """
    if state.mail is not None:
        given = (state.mail, state.parameters, steps, state.update_count)
        rows, mail = stages.deliver(method, *given)
        return rows, memory, mail
    rows = stages.move(method, state.parameters, steps)
    period, slot = divmod(int(state.update_count), int(method.sync_period))
    if slot + 1 < int(method.sync_period):
        return rows, memory, None
    shared = stages.shared(memory)
    averaged = None if shared is None else stages.average(method, period, shared)
    return stages.average(method, period, rows), stages.adopt(memory, averaged), None


def learn(
    learner: LocalLearner,
    method: Method,
    agent: Int[Array, ""],
    row: Row,
    memory: Any,
    transitions: Any,
    key: PRNGKeyArray,
    update_count: Int[Array, ""],
) -> LocalResult:
    """What one agent finds in its slot, and how much of it counts.

    Paper: Eq. (18).  D(y) I(τ_i > y) g_i
    """
    period, slot = jnp.divmod(update_count, method.sync_period)
    own_key = jax.random.fold_in(jax.random.fold_in(key, update_count), agent)
    found, learned, metrics = learner.local_update(
        row, memory, transitions, own_key, method.learning_rate
    )
    found = attacked(method, found, agent, own_key)
    finite = all_finite((found, row - method.learning_rate * found, learned))
    turns = method.local_updates[period % len(method.local_updates), agent]
    active = (turns > slot) & finite
    trust = jnp.where(active, method.decay[slot], 0.0)
    # No product with zero: what is not finite would stay so.
    step = jnp.where(trust == 0, jnp.zeros_like(found), trust * found)
    # An idle agent's optimiser stands still.
    memory = jax.tree.map(lambda new, old: jnp.where(active, new, old), learned, memory)
    return LocalResult(step, memory, metrics, active, finite)


def mix(weights: Float[Array, " neighbour"], rows: Float[Array, "neighbour parameter"]) -> Row:
    """One agent's exchange: its own row and its neighbours', in the order of agents.

    Paper: Eq. (23).  g_i ← Σ_l W_il g_l
    """
    return combine_rows(weights[None], rows)[0]


def move(method: Method, parameters: Any, steps: Any) -> Any:
    """Parameters after a step: the row of one agent, or the rows of all.

    Paper: Eq. (16).  θ_i ← θ_i − η g_i
    """
    return parameters - method.learning_rate * steps


def stacked(trees: Sequence[Any]) -> Any:
    """Trees of all agents as one, the agents in front; in NumPy, for half of it is never used."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def unstacked(tree: Any, agents: int, axis: int = 0) -> list[Any]:
    """A tree for each agent, from one in which agents are an axis of every leaf; copies nothing."""
    leaves, structure = jax.tree.flatten(tree)
    in_front = [np.moveaxis(np.asarray(leaf), axis, 0) for leaf in leaves]
    return [
        jax.tree.unflatten(structure, [leaf[agent] for leaf in in_front]) for agent in range(agents)
    ]
