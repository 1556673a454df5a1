"""One federated update of all agents: the whole method on one screen."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from fmarl.federation.delay import Mail, by_mail
from fmarl.federation.method import Method
from fmarl.federation.rows import (
    Rows,
    average_rows,
    average_tree,
    combine_rows,
    finite_rows,
    keep_rows,
    scale_rows,
)


class TrainState(eqx.Module):
    """Everything that learning changes. First axis: the agent."""

    parameters: Rows
    """Θ: one row of parameters per agent."""
    memory: Any
    """What each agent keeps for itself: optimiser state, replay, targets."""
    update_count: Int[Array, ""]
    """k: slots learned so far."""
    mail: Mail | None
    """What is under way, for methods with delays."""


class Learner(NamedTuple):
    """What an update needs to know of an algorithm: how one agent learns, and what is shared."""

    local_update: Callable[..., tuple[Any, Any, dict[str, Array]]]
    """`(row, memory, transitions, key, learning_rate)` to a row of pseudo-gradient, new memory and
    metrics, for one agent."""
    meet: Callable[[Any, Callable[[Any], Any]], Any]
    """What becomes of the memories when parameters are averaged."""


class Report(NamedTuple):
    """What happened in a slot, one entry per agent."""

    metrics: dict[str, Float[Array, " agent"]]
    active: Bool[Array, " agent"]
    """Who finished a step."""
    finite: Bool[Array, " agent"]
    """Whose step was made of finite numbers; others count as idle."""
    steps: Rows
    """The pseudo-gradients as the agents found them: before decay, mask and mixing."""


def federated_update(
    method: Method, learner: Learner, state: TrainState, transitions: Any, key: PRNGKeyArray
) -> tuple[TrainState, Report]:
    """Let every agent learn from its slot, exchange what it found, step, and average when due.

    Paper: Eqs. (4), (5), (16), (18), (24).  θ_i ← θ_i − η Σ_l [W_E ⋯ W_1]_il D(y) I(τ_l > y) g_l
    Differs from the paper: k counts slots, not agents, and averages follow when (k+1) mod τ = 0
    (E8, E12); idle agents apply the mixed row too, or the mean would not be kept (E9).
    """
    period, slot = jnp.divmod(state.update_count, method.sync_period)
    keys = _agent_keys(key, state.update_count, len(state.parameters))

    # Every agent learns alone, from its own transitions (the second axis; the first is time).
    learn_alone = jax.vmap(learner.local_update, in_axes=(0, 0, 1, 0, None))
    found, memory, metrics = learn_alone(
        state.parameters, state.memory, transitions, keys, method.learning_rate
    )

    # Who has finished a step in this slot, and how much it is trusted (Eq. 18).
    reached = state.parameters - method.learning_rate * found
    finite = finite_rows((found, reached, memory))
    active = (method.local_updates[period % len(method.local_updates)] > slot) & finite
    steps = scale_rows(jnp.where(active, method.decay[slot], 0.0), found)

    # Neighbours exchange what they found, one round after another (Eq. 23).
    def exchange(round_: Int[Array, ""], rows: Rows) -> Rows:
        return combine_rows(method.mixing[round_], rows)

    if len(method.mixing) > 0:
        steps = jax.lax.fori_loop(0, method.consensus_rounds, exchange, steps)
    memory = keep_rows(active, memory, state.memory)  # an idle agent's optimiser stands still

    parameters, memory, mail = _step_and_average(
        method, learner, state, steps, memory, period, slot + 1 == method.sync_period
    )
    state = TrainState(parameters, memory, state.update_count + 1, mail)
    return state, Report(metrics, active, finite, found)


def _step_and_average(
    method: Method,
    learner: Learner,
    state: TrainState,
    steps: Rows,
    memory: Any,
    period: Int[Array, ""],
    due: Bool[Array, ""],
) -> tuple[Rows, Any, Mail | None]:
    """Step, and when the period is over let the virtual agent average.

    Paper: Eqs. (11), (19) and (25).  θ̄ = (1/m) Σ_i θ_i after slot τ−1
    """
    if state.mail is not None:
        parameters, mail = by_mail(method, state.mail, state.parameters, steps, state.update_count)
        return parameters, memory, mail
    parameters = state.parameters - method.learning_rate * steps
    weights = method.averaging[period % len(method.averaging)]
    meet = partial(learner.meet, memory, partial(average_tree, weights))
    parameters, memory = jax.lax.cond(
        due,
        lambda: (average_rows(weights, parameters), meet()),
        lambda: (parameters, memory),
    )
    return parameters, memory, None


def _agent_keys(
    key: PRNGKeyArray, update_count: Int[Array, ""], agents: int
) -> Key[Array, " agent"]:
    """One key per agent and slot, each a function of its own numbers alone."""
    slot_key = jax.random.fold_in(key, update_count)
    return jax.vmap(lambda agent: jax.random.fold_in(slot_key, agent))(jnp.arange(agents))
