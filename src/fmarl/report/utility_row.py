"""What a run has measured, beside what the theory calls it: ψ0, ψ1, ψ2 and utility."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fmarl.theory import Problem, utility

Line = Mapping[str, Any]


class Measured(NamedTuple):
    """The row that a run adds to a table like the paper's Table IV."""

    initial_gradient_norm: float
    """ψ2: ‖∇F(θ̄_0)‖² on the sample set."""
    gradient_norm: float
    """ψ1 as measured: the mean of ‖∇F(θ̄)‖² over all averages of the run."""
    cost: float
    """ψ0: everything that was counted, at the prices of the problem."""
    utility: float
    """Error removed per unit of cost; −inf if none was removed."""


# Prices are the paper's; the constants of the loss play no part here.
PRICES = Problem(smoothness=1.0, gradient_noise=0.0)


def measured(lines: Sequence[Line], prices: Problem = PRICES) -> Measured | None:
    """What a run's metrics add up to; None if it was not measured on samples.

    Paper: Eqs. (10), (12) and (13).  ψ2 = ‖∇F(θ̄_0)‖²,  ψ1 = mean of ‖∇F(θ̄)‖²,  𝒰 = (ψ2 − ψ1)/ψ0

    >>> start = {"kind": "start", "expected_gradient_norm": 9.0}
    >>> epoch = {"kind": "epoch", "expected_gradient_norm": 4.0, "gradient_norms_measured": 2}
    >>> counts = {"uploads": 20, "updates": 0, "exchanges": 0, "mixings": 0}
    >>> measured([start, {**epoch, **counts}]).utility
    0.25
    """
    firsts = [line.get("expected_gradient_norm") for line in lines if line["kind"] == "start"]
    epochs = [line for line in lines if line["kind"] == "epoch"]
    with_norms = [line for line in epochs if "gradient_norms_measured" in line]
    if not with_norms or not firsts or firsts[0] is None:
        return None
    counts = [line["gradient_norms_measured"] for line in with_norms]
    total = sum(
        line["expected_gradient_norm"] * count
        for line, count in zip(with_norms, counts, strict=True)
    )
    first, mean = firsts[0], total / sum(counts)
    cost = cost_of(epochs[-1], prices)
    return Measured(first, mean, cost, float(utility(first, mean, cost)))


def cost_of(last: Line, prices: Problem = PRICES) -> float:
    """ψ0: what a line of metrics has counted, at its price.

    Paper: Eqs. (7) and (27).  ψ0 = C1·uploads + C2·updates + W1·exchanges + W2·mixings
    """
    return float(
        last["uploads"] * prices.upload_cost
        + last["updates"] * prices.update_cost
        + last["exchanges"] * prices.exchange_cost
        + last["mixings"] * prices.mixing_cost
    )
