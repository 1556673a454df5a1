"""A study of the paper: how long and on how many seeds, and what is chosen where it leaves room.

Every experiment of the reproduction is made from one `Choices`, which has the reason for each
setting. A variant changes some of them, to see whether a claim depends on the choice:
`fmarl reproduce all --variant sgd`.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from fmarl.errors import require, require_word
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


class Length(NamedTuple):
    """How much is run."""

    num_epochs: int
    merge_epochs: int
    """Epochs in Merge, whose 50 vehicles cost about five times as much per step."""
    test_every: int
    test_repetitions: int
    seeds: int
    table_seeds: int
    """Of the methods in Table IV; the paper states neither seeds nor intervals."""
    tuned_epochs: int
    """Epochs of the runs in which every method has its own best step, of those that find it, and of
    those about the bounds, which need whole periods: a multiple of 5."""
    merge_tuned_epochs: int
    """The same in Merge."""
    bound_seeds: int
    """Of the runs about the bounds."""
    tuning_seeds: tuple[int, ...]
    """Seeds on which the best step is chosen; they are never reported."""
    tuned_rates: tuple[float, ...]
    """η among which it is chosen, by the area under the curve of tests; the first is the paper's,
    and a variant with another η has all of them in proportion."""
    tuned_regions: tuple[float, ...]
    """The same for TRPO, whose step η does not change: how far a slot may change the policy
    (`target_kl`). The first is the default."""


_PAPER = Length(
    num_epochs=paper.NUM_EPOCHS,
    merge_epochs=paper.NUM_EPOCHS,
    test_every=10,
    test_repetitions=5,
    seeds=5,
    table_seeds=10,
    tuned_epochs=150,
    merge_tuned_epochs=100,
    bound_seeds=5,
    tuning_seeds=(100, 101),
    tuned_rates=(1e-4, 3e-4, 1e-3, 3e-3),
    tuned_regions=(1e-2, 3e-3, 1e-3, 3e-4),
)

_QUICK = Length(
    num_epochs=30,
    merge_epochs=10,
    test_every=5,
    test_repetitions=1,
    seeds=2,
    table_seeds=2,
    tuned_epochs=30,
    merge_tuned_epochs=10,
    bound_seeds=1,
    tuning_seeds=(100,),
    tuned_rates=(1e-4, 1e-3),
    tuned_regions=(1e-2, 1e-3),
)
_SHORTEST = {"num_epochs": 5, "merge_epochs": 2, "tuned_epochs": 5, "merge_tuned_epochs": 2}

LENGTHS: dict[str, Length] = {
    "smoke": _QUICK._replace(**_SHORTEST, test_every=1, seeds=1, table_seeds=1),
    "quick": _QUICK,
    "short": _PAPER._replace(num_epochs=150, merge_epochs=100, table_seeds=5),
    "paper": _PAPER,
}
"""From the word of the command line to how much is run; `smoke` only shows that all of it runs,
`short` is for variants: as good as `paper` for everything that is decided while agents learn."""


class Study(NamedTuple):
    """Everything that decides which experiments there are."""

    profile: str
    variant: str
    length: Length
    choices: Choices

    @property
    def name(self) -> str:
        """Of the folder its results go to."""
        return self.profile if self.variant == "standard" else f"{self.profile}-{self.variant}"


def make_study(profile: str, word: str = "standard", seeds: int | None = None) -> Study:
    """The study of a profile and a variant, on so many seeds if a number is given."""
    require_word("profile", profile, LENGTHS, "Use quick.")
    require_word("variant", word, VARIANTS, "Leave it out.")
    length = LENGTHS[profile]
    if seeds is not None:
        require(1 <= seeds <= 100, f"seeds = {seeds}", "1 to 100", "Use 5, for example.")
        length = length._replace(seeds=seeds, table_seeds=seeds, bound_seeds=seeds)
    return Study(profile, word, length, VARIANTS[word].choices)
