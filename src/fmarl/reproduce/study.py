"""A study: how long, on how many seeds and with which choices the paper is reproduced."""

from typing import NamedTuple

from fmarl.errors import require
from fmarl.reproduce import paper
from fmarl.reproduce.open_choices import Choices, variant


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

LENGTHS: dict[str, Length] = {
    "smoke": Length(
        num_epochs=5,
        merge_epochs=2,
        test_every=1,
        test_repetitions=1,
        seeds=1,
        table_seeds=1,
        tuned_epochs=5,
        merge_tuned_epochs=2,
        bound_seeds=1,
        tuning_seeds=(100,),
        tuned_rates=(1e-4, 1e-3),
        tuned_regions=(1e-2, 1e-3),
    ),
    "quick": Length(
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
    ),
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
    known = ", ".join(LENGTHS)
    require(profile in LENGTHS, f"profile {profile!r:.40}", f"one of {known}", "Use quick.")
    length = LENGTHS[profile]
    if seeds is not None:
        require(1 <= seeds <= 100, f"seeds = {seeds}", "1 to 100", "Use 5, for example.")
        length = length._replace(seeds=seeds, table_seeds=seeds, bound_seeds=seeds)
    return Study(profile, word, length, variant(word).choices)
