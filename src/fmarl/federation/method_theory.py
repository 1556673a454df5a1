"""A method as the theory sees it: what its bounds and its closed-form costs are computed from."""

from dataclasses import replace
from functools import lru_cache

from fmarl.errors import BadInput
from fmarl.federation.method import Method
from fmarl.federation.missing_agents import of_those_who_learn
from fmarl.theory.cost import Overheads, overheads_after
from fmarl.theory.plan import Plan, make_plan


def why_unbounded(method: Method) -> str | None:
    """What the theory does not know about a method; None if it has a bound."""
    if method.aggregate != "mean":
        return f"The bounds are about means, and here the virtual agent uses {method.aggregate}."
    if method.attack is not None:
        return "The bounds are about honest agents, and here some lie about what they found."
    if method.averages != "all":
        return "The bounds are about averages of all agents, and here not all are averaged."
    if not _is_regular(method):
        return "The bounds know neither delays nor local updates that are drawn anew."
    return None


def plan_of(method: Method, total_updates: int) -> Plan:
    """The plan of a method for so many slots.

    Raises `BadInput` for methods that no bound covers: delays, agents that come and go or lie, and
    whatever is not the mean of all agents.
    """
    if why_unbounded(method) is not None:
        raise BadInput(
            "this method has no bound: bounds need one schedule of τ_i >= 1 with a largest τ_i "
            "of τ, no delays, no attack and the mean of all agents. Compare it by its measured "
            "gradient norm."
        )
    return replace(_plan(method), total_updates=float(total_updates))


def expected_overheads(method: Method, update_count: int) -> Overheads | None:
    """The closed form of what is done in so many slots; None if there is none."""
    if not _is_regular(method) or method.averages in ("some", "groups"):
        return None
    counts = overheads_after(_plan(method), update_count)
    alone = method.averages == "none" or (~method.left_out).sum() == 1  # nobody to average with
    return counts._replace(uploads=0) if alone else counts


def _is_regular(method: Method) -> bool:
    """Whether the theory can count it: no delays, and τ_i that it allows."""
    updates = method.local_updates[:, ~method.left_out]
    fixed = len(updates) == 1 and updates.min() >= 1 and updates.max() == method.sync_period
    return bool(fixed) and not method.is_delayed


@lru_cache(maxsize=64)  # the page asks in every epoch; records are told apart by identity
def _plan(method: Method) -> Plan:
    updates, mixing = of_those_who_learn(method.local_updates[0].astype(int), method.mixing)
    return make_plan(
        sync_period=int(method.sync_period),
        local_updates=updates,
        decay=method.decay,
        mixing=mixing,
        learning_rate=float(method.learning_rate),
    )
