"""A method for a period in which some agents are absent: killed, cut off or refused.

The promise is exact: a period without an agent is the paper's formula with τ_i = 0. Its links count
for neither end, so mixing stays symmetric and the mean of what the others found is kept.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from fmarl.errors import require
from fmarl.federation.method import Method


def without(method: Method, agents: Collection[int]) -> Method:
    """The same method while these agents are absent; shapes stay, so nothing is compiled anew.

    Paper: Eq. (11).  I(τ_i > y) with τ_i = 0
    They count as a step of zero, or with `renormalise` not at all. Unlike in a method that is made,
    there may be a period in which nobody learns: the others' τ_i may all be 0 in it.

    >>> from fmarl.federation.make_method import make_method
    >>> without(make_method(3, sync_period=2), {1}).local_updates.tolist()
    [[2, 0, 2]]
    """
    if not agents:
        return method
    count = method.num_agents
    known = all(0 <= agent < count for agent in agents)
    allowed = f"agents from 0 to {count - 1}"
    require(known, f"absent agents {sorted(agents)!s:.60}", allowed, "Check their numbers.")
    absent = np.isin(np.arange(count), list(agents))
    what = f"a period without any of its {count} agents"
    fix = "Wait for an agent, or abandon the period."
    require(not absent.all(), what, "one agent or more that is there", fix)
    counted = np.where(absent & method.renormalise, 0.0, method.counted)
    return replace(
        method,
        local_updates=np.where(absent, 0, method.local_updates).astype(method.local_updates.dtype),
        mixing=cut_links(method.mixing, absent),
        counted=counted.astype(method.counted.dtype),
    )


def of_those_who_learn(
    local_updates: Int[np.ndarray, " agent"], mixing: Float[np.ndarray, "round agent agent"]
) -> tuple[Int[np.ndarray, " learner"], Float[np.ndarray, "round learner learner"]]:
    """τ_i and mixing without the agents that finish no update in a period: they are not in m.

    Paper: Eq. (6).  τ_i = 0

    >>> updates, mixing = of_those_who_learn(np.array([3, 0]), np.full((1, 2, 2), 0.5))
    >>> updates.tolist(), mixing.tolist()
    ([3], [[[1.0]]])
    """
    learns = local_updates != 0
    return local_updates[learns], cut_links(mixing, ~learns)[:, learns][:, :, learns]


def cut_links(
    mixing: Float[np.ndarray, "round agent agent"], absent: Bool[np.ndarray, " agent"]
) -> Float[np.ndarray, "round agent agent"]:
    """Mixing without the links of those who are absent: each end keeps the weight for itself.

    Paper: Eq. (23), whose rounds stay symmetric with rows and columns that sum to one.

    >>> cut_links(np.array([[[0.75, 0.25], [0.25, 0.75]]]), np.array([True, False])).tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    if len(mixing) == 0:
        return mixing  # and no matrix of agents × agents is made
    cut = (absent[:, None] | absent[None, :]) & ~np.eye(len(absent), dtype=bool)
    kept = np.where(cut, 0.0, mixing).astype(mixing.dtype)
    places = np.arange(len(absent))
    kept[:, places, places] += np.where(cut, mixing, 0.0).sum(axis=2).astype(mixing.dtype)
    return kept
