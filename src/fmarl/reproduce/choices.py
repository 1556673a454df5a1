"""What the paper leaves open, decided in one place, with the reason; and what else could be meant.

Every experiment of the reproduction is made from one `Choices`. A variant changes some of them, to
see whether a claim depends on the choice: `fmarl reproduce all --variant sgd`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fmarl.errors import require
from fmarl.reproduce import paper


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Settings that the paper does not print, or that contradict each other in it."""

    optimiser: str = "adam"
    """The paper writes θ ← θ − η g and nothing more. With plain SGD its η = 1e-4 hardly moves: NAS
    0.05 to 0.08 in 500 epochs; with Adam it learns in about 100."""
    learning_rate: float = paper.LEARNING_RATE
    """η of Table III. The text of Fig. 5 calls 1e-3 proper, which is another of its own values."""
    hidden: tuple[int, ...] = (64, 64)
    """Networks are not described; two layers of 64 are what implementations of PPO agree on."""
    normalise_advantages: bool = True
    """Not mentioned. It makes the step independent of how large rewards are."""
    discount: float = 0.9
    """Table III. It looks about one second ahead; 0.99 is the usual value."""
    preset: str = "zju"
    """Roads with the limits of the authors' lab; `flow` has those of the benchmark they name."""
    local_updates: Mapping[str, str] = field(
        default_factory=lambda: {
            name: ",".join(map(str, updates)) for name, updates in paper.FAST_TO_SLOW.items()
        }
    )
    """τ_i behind "τ = 1∼15" and so on: only their sums are printed, as Table IV's overheads."""
    graph_13: str = "paper-13"
    """Two graphs have 13 edges and μ2 = 1.4384; this one's degrees are nearer to "3∼4"."""
    sample_seed: int = 100
    """The sample set is "predetermined" and collected over a run with τ = 1: one run with a seed
    that is not reported makes the set for all others."""
    delay_slots: int = 12
    """Fig. 4 delays both links by "2 epochs (i.e., 300 seconds)": 2 · 1500 steps of 0.1 s."""


class Variant(NamedTuple):
    """Other choices, and the doubt they are there for."""

    choices: Choices
    doubt: str


_STANDARD = Choices()

VARIANTS: dict[str, Variant] = {
    "standard": Variant(_STANDARD, "the choices as they stand"),
    "sgd": Variant(
        replace(_STANDARD, optimiser="sgd", learning_rate=1e-2),
        "are claims an effect of Adam? Plain SGD, at an η with which it learns",
    ),
    "printed": Variant(
        replace(_STANDARD, optimiser="sgd", normalise_advantages=False),
        "what does the paper do word for word? Plain SGD at 1e-4, nothing normalised",
    ),
    "rate-1e-3": Variant(
        replace(_STANDARD, learning_rate=1e-3), "Fig. 5's text calls η = 1e-3 the proper one"
    ),
    "discount-0.99": Variant(
        replace(_STANDARD, discount=0.99), "does looking ahead one second limit all methods alike?"
    ),
    "other-graph": Variant(
        replace(_STANDARD, graph_13="paper-13-other"), "the other graph with μ2 = 1.4384"
    ),
    "even-updates": Variant(
        replace(_STANDARD, local_updates=paper.EVEN_UPDATES),
        "τ_i with the same sums that reach the lower ends of their ranges",
    ),
    "drawn-updates": Variant(
        replace(
            _STANDARD,
            local_updates={name: f"drawn:{name}" for name in paper.FAST_TO_SLOW},
        ),
        'τ_i drawn anew in every period, as "uniformly distributed" says; their mean is then 8',
    ),
    "flow": Variant(replace(_STANDARD, preset="flow"), "the limits of the Flow benchmark"),
}
"""From the word of the command line to what it changes."""


def variant(word: str) -> Variant:
    """The variant of that name."""
    known = ", ".join(VARIANTS)
    require(word in VARIANTS, f"variant {word!r:.40}", f"one of {known}", "Choose one.")
    return VARIANTS[word]
