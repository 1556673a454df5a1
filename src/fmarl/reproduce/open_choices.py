"""What the paper leaves open, decided in one place, with the reason; and what else could be meant.

Every experiment of the reproduction is made from one `Choices`. A variant changes some of them, to
see whether a claim depends on the choice: `fmarl reproduce all --variant sgd`.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fmarl.errors import require
from fmarl.reproduce import paper

LOCAL_UPDATES: dict[str, dict[str, str]] = {
    "rule": {name: ",".join(map(str, found)) for name, found in paper.FAST_TO_SLOW.items()},
    "even": paper.EVEN_UPDATES,
    "drawn": {name: f"drawn:{name}" for name in paper.FAST_TO_SLOW},
}
"""What the names of τ_i's ranges may stand for."""


def _chosen(value: Any, why: str) -> Any:
    """A setting with the reason for it, which the report prints."""
    return field(default=value, metadata={"why": why})


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Settings that the paper does not print, or that contradict each other in it."""

    optimiser: str = _chosen(
        "adam",
        "The paper writes θ ← θ − η g and nothing more. With plain SGD its η = 1e-4 hardly moves; "
        "with Adam it learns in about 100 epochs.",
    )
    learning_rate: float = _chosen(
        paper.LEARNING_RATE,
        "η of Table III. The text of Fig. 5 calls 1e-3 proper, another value of its own.",
    )
    equal_steps: bool = _chosen(
        False,
        "One η serves all methods in Table III, though those that mask or decay then step less.",
    )
    hidden: tuple[int, ...] = _chosen(
        (64, 64),
        "Networks are not described; two layers of 64 are what implementations of PPO agree on.",
    )
    normalise_advantages: bool = _chosen(
        True, "Not mentioned. It makes the step independent of how large rewards are."
    )
    discount: float = _chosen(
        0.9, "Table III. It looks about one second ahead; 0.99 is the usual value."
    )
    preset: str = _chosen(
        "zju", "Limits of the authors' lab; `flow` has those of the benchmark that they name."
    )
    local_updates: str = _chosen(
        "rule",
        "τ_i behind “τ = 1∼15” and so on: only their sums are printed, as Table IV's overheads. "
        "One rule, τ_i = 15 − ⌊(i−1)c⌋, gives all three sums.",
    )
    graph_13: str = _chosen(
        "paper-13",
        "Two graphs have 13 edges and μ2 = 1.4384; the degrees of this one (atlas 1081) are nearer "
        "to “3∼4” than those of the other (1047).",
    )
    sample_seed: int = _chosen(
        100,
        "The sample set is “predetermined” and collected over a run with τ = 1: one run with a "
        "seed that is not reported makes the set for all others.",
    )
    delay_slots: int = _chosen(
        12, "Fig. 4 delays both links by “2 epochs (i.e., 300 seconds)”: 2 · 1500 steps of 0.1 s."
    )
    normaliser: str = _chosen(
        "min–max over the 13 rows, seed by seed",
        "Table IV's rule is not stated; this one gives all 13 printed utilities.",
    )


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
    "equal-steps": Variant(
        replace(_STANDARD, equal_steps=True),
        "do methods differ in more than how far they step? η over the share of full steps taken",
    ),
    "discount-0.99": Variant(
        replace(_STANDARD, discount=0.99), "does looking ahead one second limit all methods alike?"
    ),
    "other-graph": Variant(
        replace(_STANDARD, graph_13="paper-13-other"), "the other graph with μ2 = 1.4384"
    ),
    "even-updates": Variant(
        replace(_STANDARD, local_updates="even"),
        "τ_i with the same sums that reach the lower ends of their ranges",
    ),
    "drawn-updates": Variant(
        replace(_STANDARD, local_updates="drawn"),
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
