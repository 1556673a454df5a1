"""What a run costs, and what it is worth per unit of cost."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from fmarl.theory.plan import Plan
from fmarl.theory.problem import Problem, Real


class Overheads(NamedTuple):
    """How often each kind of work is done in the whole run, by all agents together."""

    uploads: Real
    """Exchanges with the virtual agent (priced C1)."""
    updates: Real
    """Local updates (priced C2)."""
    exchanges: Real
    """Gradients sent to a neighbour (priced W1)."""
    mixings: Real
    """Received gradients mixed in (priced W2)."""


def overheads(plan: Plan) -> Overheads:
    """Count the work of a plan; τ should divide K, else the last period is counted in part.

    Paper: Eqs. (7) and (27).  (K/τ)m C1, (K/τ)Σ_i τ_i C2, K E Σ_i|Ω_i| (W1 and W2)
    """
    periods = plan.total_updates / plan.sync_period
    exchanges = plan.total_updates * np.count_nonzero(_links(plan), axis=(-3, -2, -1))
    return Overheads(
        uploads=periods * plan.num_agents,
        updates=periods * plan.local_updates.sum(axis=-1),
        exchanges=exchanges,
        mixings=exchanges,
    )


def overheads_after(plan: Plan, update_count: int) -> Overheads:
    """Count the work of a plan's first slots, also where they end within a period.

    Paper: Eqs. (7) and (27) count whole periods; in a part of y slots agent i makes min(τ_i, y)
    updates, and nobody uploads.

    >>> from fmarl.theory import make_plan
    >>> plan = make_plan(sync_period=3, local_updates=np.array([3, 2]))
    >>> overheads_after(plan, 5).updates
    9
    """
    periods, slots = divmod(update_count, plan.sync_period)
    exchanges = update_count * int(np.count_nonzero(_links(plan)))
    within = np.minimum(plan.local_updates, slots)
    return Overheads(
        uploads=periods * plan.num_agents,
        updates=int(periods * plan.local_updates.sum() + within.sum()),
        exchanges=exchanges,
        mixings=exchanges,
    )


def needed_exchanges(plan: Plan) -> Real:
    """Gradients that must be sent when agents do not send what is surely zero.

    Paper: Eq. (27) bills every link in every slot.
    Differs from the paper: in round e only agents within e − 1 links of an active one have
    anything to send (E13).
    """
    knows = plan.active.astype(float)
    sent = np.zeros(())
    for round_ in range(plan.consensus_rounds):
        links = _links(plan)[..., round_, :, :].astype(float)
        sent = sent + np.sum(knows @ links, axis=(-2, -1))
        knows = np.minimum(knows + knows @ links, 1)
    return sent * plan.total_updates / plan.sync_period


def resource_cost(problem: Problem, plan: Plan) -> Real:
    """ψ0: everything counted, at its price.

    Paper: Eqs. (7) and (27).  ψ0 = (K/τ)(m C1 + C2 Σ_i τ_i) + K E (W1 + W2) Σ_i|Ω_i|
    """
    count = overheads(plan)
    return (
        count.uploads * problem.upload_cost
        + count.updates * problem.update_cost
        + count.exchanges * problem.exchange_cost
        + count.mixings * problem.mixing_cost
    )


def utility(
    initial_gradient_norm: Real, gradient_bound: Real, resource_cost: Real
) -> Float[np.ndarray, "..."]:
    """Error removed per unit of cost; −inf where no error is known to be removed.

    Paper: Eq. (13).  𝒰 = (ψ2 − ψ1)/ψ0
    Differs from the paper: where ψ1 >= ψ2 the quotient would *reward* a higher cost (E10), so
    such a plan is infeasible.

    >>> float(utility(33.5, 3.5, 1400.0)), float(utility(3.5, 33.5, 1400.0))
    (0.02142857142857143, -inf)
    """
    removed = np.subtract(initial_gradient_norm, gradient_bound)
    with np.errstate(divide="ignore", invalid="ignore"):  # what is free is worth infinitely much
        return np.where(removed > 0, removed / np.asarray(resource_cost), -np.inf)


def normalised_utility(utilities: Float[np.ndarray, " row"]) -> Float[np.ndarray, " row"]:
    """The last column of Table IV: 0 for the worst feasible row and 1 for the best.

    Paper: Section VII, Table IV, where the rule is not stated; min–max over the rows reproduces
    all 13. Comparing with other rows changes every value (E10). Infeasible rows stay −inf.

    >>> normalised_utility(np.array([1.0, 3.0, 2.0, -np.inf]))
    array([ 0. ,  1. ,  0.5, -inf])
    """
    feasible = utilities[np.isfinite(utilities)]
    if feasible.size == 0:
        return utilities
    span = feasible.max() - feasible.min()
    return (utilities - feasible.min()) / (span if span > 0 else 1.0)


def _links(plan: Plan) -> Bool[np.ndarray, "... round agent agent"]:
    """Who sends to whom in each round: where the weights are not zero."""
    return (plan.mixing != 0) & ~np.eye(plan.num_agents, dtype=bool)
