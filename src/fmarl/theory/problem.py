"""What is given: the constants of the learning problem and the price of each message and update."""

from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float, Int

from fmarl.errors import require

LARGEST = 1e38
"""Of any number that is given: products of a few of them can be computed, also in float32."""
EXAMPLES = {"smoothness": 200.0, "gradient_noise": 2000.0, "noise_correlation": 0.0}

Real = float | int | np.floating | Float[np.ndarray, "..."] | Int[np.ndarray, "..."]
"""A number, or an array of numbers with one entry per setting: every formula here broadcasts."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The constants of assumption A1 and the unit costs. Any field may be an array over settings.

    Paper: Eq. (12).  ψ2 = E‖∇F(θ̄_0)‖²; L, σ², β and F_inf are those of assumption A1.

    >>> Problem(smoothness=200.0, gradient_noise=2000.0).upload_cost
    1.0
    """

    smoothness: Real
    """L: the gradient changes at most L times as fast as the parameters."""
    gradient_noise: Real
    """σ²: the part of a minibatch gradient's variance that never vanishes."""
    gradient_noise_slope: Real = 0.0
    """β: how much of that variance grows with the squared gradient."""
    initial_gap: Real = 1.0
    """ΔF: loss at the start minus the lowest possible loss."""
    initial_gradient_norm: Real = 33.5344
    """ψ2: squared gradient norm at the start (default: what the paper's Table IV implies)."""
    noise_correlation: Real = 0.0
    """c: share of the noise that all agents have in common. The paper assumes 0, although its
    vehicles share one road and one reward; only the corrected bounds use it."""
    upload_cost: Real = 1.0
    """C1: one agent's exchange with the virtual agent."""
    update_cost: Real = 1e-4
    """C2: one local update."""
    exchange_cost: Real = 1e-3
    """W1: one gradient sent to one neighbour."""
    mixing_cost: Real = 1e-4
    """W2: mixing one received gradient."""

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            require(
                bool(np.all(np.greater_equal(value, 0)) and np.all(np.less_equal(value, LARGEST))),
                f"{name} = {shown(value)}",
                f"0 <= {name} <= {LARGEST:g}",
                f"Use a number such as {EXAMPLES.get(name, 1.0):g}.",
            )
        require(
            bool(np.all(np.greater(self.smoothness, 0))),
            f"smoothness = {shown(self.smoothness)}",
            "smoothness > 0",
            "Give the gradient's Lipschitz constant L, for example 200.",
        )
        require(
            bool(np.all(np.less_equal(self.noise_correlation, 1))),
            f"noise_correlation = {shown(self.noise_correlation)}",
            "0 <= noise_correlation <= 1",
            "Use 0 for independent agents.",
        )


def shown(value: Real) -> str:
    """A value for an error message: short, also when it is an array over many settings."""
    flat = np.asarray(value).reshape(-1)
    text = ", ".join(f"{entry:g}" for entry in flat[:8])
    return text + (", …" if flat.size > 8 else "")
