"""How many updates each agent finishes in a period: from its step times, or spread over a range."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from fmarl.errors import require


def local_updates_from_times(
    step_seconds: Sequence[float], sync_period: int
) -> Int[np.ndarray, " agent"]:
    """τ_i of agents whose steps take different times; 0 for one that finishes none.

    Paper: Eq. (6).  τ_i = ⌊τ E[x_1]/E[x_i]⌋, x_1 the fastest agent
    Differs from the paper: computed in exact decimals, since 3·0.3/0.9 in floating point is below
    1 and the floor would lose a whole update (E11). An agent with 0 is left out of m.

    >>> local_updates_from_times([0.3, 0.9, 0.7], sync_period=3)
    array([3, 1, 1])
    """
    _require_positive(sync_period, "sync_period")
    _require_positive(len(step_seconds), "the number of step times")
    for seconds in step_seconds:
        require(
            bool(np.isfinite(seconds)) and seconds > 0,
            f"step time {seconds}",
            "seconds > 0 and finite",
            "Give the mean time of one update per agent.",
        )
    times = [Fraction(str(seconds)) for seconds in step_seconds]  # the decimal that was typed
    return np.array([int(sync_period * min(times) / time) for time in times])


def spread_local_updates(fewest: int, most: int, num_agents: int) -> Int[np.ndarray, " agent"]:
    """τ_i spread evenly from `most` downwards, one quantile of the range per agent.

    With 1 to 15 and seven agents this is the only arithmetic progression that gives the
    computation overhead of the paper's row "τ = 1∼15".

    >>> spread_local_updates(1, 15, num_agents=7)
    array([15, 13, 11,  9,  7,  5,  3])
    """
    _require_positive(num_agents, "num_agents")
    require(
        1 <= fewest <= most,
        f"local updates {fewest}-{most}",
        "1 <= fewest <= most",
        "Write the range as 1-15.",
    )
    return most - np.arange(num_agents) * (most - fewest + 1) // num_agents


def _require_positive(number: int, name: str) -> None:
    require(number >= 1, f"{name} = {number}", "1 or more", "Give a positive whole number.")
