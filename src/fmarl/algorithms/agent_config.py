"""Settings that every algorithm shares: what an agent is made of, and how far it looks ahead."""

from dataclasses import dataclass

from fmarl.algorithms.networks import ACTIVATIONS
from fmarl.errors import require, require_word


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    """One agent: its networks, its discount and its optimiser."""

    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers of each network."""
    activation: str = "tanh"
    """How the layers bend: tanh or relu."""
    discount: float = 0.9
    """γ: worth of a reward one step later. The paper's Table III has 0.9."""
    optimiser: str = "adam"
    """sgd, momentum, adam, or another of Optax's scale_by_… rules. The paper writes plain SGD,
    which at its η = 1e-4 hardly moves; Adam learns with that η."""
    max_gradient_norm: float = 0.0
    """Longer gradients are shortened to this; 0 for never."""

    def __post_init__(self) -> None:
        sizes = f"hidden = {self.hidden}"
        fits = len(self.hidden) >= 1 and all(1 <= width <= 4096 for width in self.hidden)
        require(fits, sizes, "one width or more, each 1 to 4096", "Use 64 64.")
        require_word("activation", self.activation, ACTIVATIONS, "Use tanh.")
        require(
            0 <= self.discount < 1, f"discount = {self.discount}", "0 <= discount < 1", "Use 0.9."
        )
        norm = self.max_gradient_norm
        require(norm >= 0, f"max_gradient_norm = {norm}", "0 or more", "Use 0 for no limit.")
