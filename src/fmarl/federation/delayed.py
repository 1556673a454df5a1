"""Delays: gradients and parameters that reach the other side some slots later.

The virtual agent steps in every slot with the gradients that arrive, and agents use the parameters
that arrive. Until the first have come, nobody moves.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from fmarl.federation.aggregation import aggregate_rows
from fmarl.federation.method import Method
from fmarl.federation.row_ops import Rows

Queue = Float[Array, "_ agent parameter"]


class InFlight(eqx.Module):
    """The virtual agent's own parameters, and what is under way in each direction."""

    virtual: Rows
    """The virtual agent's parameters, one equal row per agent."""
    uplink: Queue
    """Gradients under way, one place per slot of delay, used in turn."""
    downlink: Queue


def nothing_in_flight(method: Method, parameters: Rows) -> InFlight | None:
    """The state before anything was sent; None for a method without delays."""
    if not method.is_delayed:
        return None
    uplink = jnp.zeros((method.uplink_delay, *parameters.shape), parameters.dtype)
    downlink = jnp.broadcast_to(parameters, (method.downlink_delay, *parameters.shape))
    return InFlight(parameters, uplink, downlink)


def delayed_update(
    method: Method, in_flight: InFlight, parameters: Rows, steps: Rows, update_count: Int[Array, ""]
) -> tuple[Rows, InFlight]:
    """One slot of delayed learning: send, let the virtual agent step, and adopt what has arrived.

    Paper: Section VII, Fig. 4: both links are 2 epochs late; FIRL_syn adopts in every iteration,
    FIRL_asy every 2 epochs. With no delay at all this is Eq. (4).
    """
    arrived, uplink = _exchange(in_flight.uplink, steps, update_count)
    averaged = aggregate_rows(method, 0, arrived)
    virtual = in_flight.virtual - method.learning_rate * averaged
    offered, downlink = _exchange(in_flight.downlink, virtual, update_count)
    adopts = (update_count + 1) % method.adopt_every == 0
    return jnp.where(adopts, offered, parameters), InFlight(virtual, uplink, downlink)


def _exchange(queue: Queue, sent: Rows, update_count: Int[Array, ""]) -> tuple[Rows, Any]:
    """Put something on its way, and take out what was put there `delay` slots ago."""
    if len(queue) == 0:
        return sent, queue
    place = update_count % len(queue)
    arrived = jax.lax.dynamic_index_in_dim(queue, place, keepdims=False)
    return arrived, jax.lax.dynamic_update_index_in_dim(queue, sent, place, axis=0)
