"""The paper's claims as comparisons, and the rule that decides them.

A comparison is supported if the whole 95 % interval of the paired difference lies on the claimed
side and the difference is not negligible; not supported if the whole interval lies below what is
negligible; else undecided. With fewer than five common seeds nothing is decided. A claim is
supported if all its comparisons are, and not supported if one of them is not.

The interval that decides is Student's: that of the bootstrap, shown beside it, holds the truth in
84 % of cases with five seeds, not in 95 % (tests/unit/report/test_statistics.py).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from fmarl.report.forest import VerdictWord
from fmarl.report.statistics import (
    Interval,
    mean_interval,
    paired_difference,
    probability_of_improvement,
)
from fmarl.reproduce.bound_runs import BOUND_METHODS
from fmarl.reproduce.measures import MEASURES
from fmarl.reproduce.methods import (
    ASY,
    CONSENSUS,
    CONSENSUS_1_15,
    CONSENSUS_DENSE,
    CONSENSUS_TWICE,
    DECAY_92,
    DECAY_95,
    DECAY_98,
    IRL,
    SYN,
    TAU_1,
    TAU_1_15,
    TAU_5_15,
    TAU_10,
    TAU_10_15,
    TAU_15,
)
from fmarl.reproduce.plan import rated

NoVerdict = Literal["not run yet", "it is about η itself"]
"""What stands where a claim has no verdict."""

LEAST_SEEDS = 5
WORST_FIRST: dict[VerdictWord, int] = {"not supported": 0, "undecided": 1, "supported": 2}
UNKNOWN = Interval(math.nan, math.nan, math.nan)


class Comparison(NamedTuple):
    """One method is said to beat another, by one measure."""

    better: str
    worse: str
    measure: str


class Claim(NamedTuple):
    """Something that the paper says of its methods."""

    number: int
    says: str
    where: str
    comparisons: tuple[Comparison, ...]
    is_about_rates: bool = False
    """Then it can not be decided again with each method at its own best η."""


class Verdict(NamedTuple):
    """What the runs say to a comparison."""

    comparison: Comparison
    word: VerdictWord
    effect: Interval
    """Mean difference in the claimed direction: positive is as claimed."""
    resampled: Interval
    """The same with the bootstrap's interval."""
    improvement: Interval
    """Probability that a run of the better one beats a run of the other."""
    seeds: int
    """On which both have a number."""
    was_run: bool
    """Whether both were run; a run may be too short for a number, or have no bound."""


def _order(names: Sequence[str], *measures: str) -> tuple[Comparison, ...]:
    """Each name beats the next, by every measure."""
    pairs = pairwise(names)
    return tuple(Comparison(*pair, measure) for pair in pairs for measure in measures)


def _all_beat(better: Sequence[str], worse: Sequence[str], measure: str) -> tuple[Comparison, ...]:
    return tuple(Comparison(one, other, measure) for one in better for other in worse)


BOUND_OF, MEASURED = "bound of ", "measured norm"
"""Claim 15 compares no two methods, but a bound with what was measured in the same run."""

_MERGE = tuple(
    Comparison(f"Merge {word} FIRL_C", f"Merge {word} FIRL", "unrest")
    for word in ("PPO", "TRPO", "TAC")
)
_RATES = tuple(
    Comparison(rated(name, 1e-3), rated(name, other), measure)
    for name in (TAU_1_15, DECAY_92)
    for other, measure in ((1e-5, "area"), (1e-2, "final"))
)
_DECAYED = (DECAY_98, DECAY_95, DECAY_92)
_MIXED = (CONSENSUS, CONSENSUS_DENSE, CONSENSUS_TWICE)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        1,
        "Federation improves independent learning in speed and in what is reached.",
        "Fig. 4",
        (Comparison(TAU_1, IRL, "epochs"), Comparison(TAU_1, IRL, "final")),
    ),
    Claim(
        2,
        "Under delay, updating less often hurts: FIRL_asy is worse than FIRL_syn.",
        "Fig. 4",
        _order((SYN, ASY), "area"),
    ),
    Claim(3, "NAS falls as τ grows.", "Fig. 6a", _order((TAU_1, TAU_10, TAU_15), "area")),
    Claim(
        4,
        "NAS falls as the mean ν of the local updates grows.",
        "Fig. 6a",
        _order((TAU_1_15, TAU_5_15, TAU_10_15, TAU_15), "area"),
    ),
    Claim(
        5,
        "Decay lowers the expected gradient norm at equal cost.",
        "Table IV",
        _all_beat(_DECAYED, (TAU_1_15,), "norm"),
    ),
    Claim(
        6,
        "A smaller λ converges faster.",
        "Fig. 6b",
        _order((DECAY_92, DECAY_95, DECAY_98), "epochs"),
    ),
    Claim(
        7,
        "Consensus improves on τ = 15.",
        "Fig. 6c, Table IV",
        _order((CONSENSUS, TAU_15), "area", "norm"),
    ),
    Claim(
        8,
        "Consensus improves on τ = 1∼15.",
        "Fig. 6c, Table IV",
        _order((CONSENSUS_1_15, TAU_1_15), "area", "norm"),
    ),
    Claim(
        9,
        "A larger algebraic connectivity μ2 is better.",
        "Fig. 6c, Table IV",
        _order((CONSENSUS_DENSE, CONSENSUS), "area", "norm"),
    ),
    Claim(
        10,
        "More exchanges E per update are better.",
        "Fig. 6c, Table IV",
        _order((CONSENSUS_TWICE, CONSENSUS), "area", "norm"),
    ),
    Claim(11, "In Merge, consensus stabilises PPO, TRPO and TAC.", "Fig. 6d–f", _MERGE),
    Claim(
        12,
        "FIRL_D and FIRL_C give more NAS per unit of communication early on.",
        "Fig. 7",
        _all_beat((DECAY_92, CONSENSUS), (TAU_1, TAU_10, TAU_1_15), "efficiency"),
    ),
    Claim(
        13,
        "FIRL_D and FIRL_C have more utility than FIRL, and FIRL more with larger τ.",
        "Table IV",
        (
            *_order((TAU_15, TAU_10, TAU_1), "utility"),
            *_all_beat(_DECAYED, (TAU_1_15,), "utility"),
            *_all_beat(_MIXED, (TAU_15,), "utility"),
            Comparison(CONSENSUS_1_15, TAU_1_15, "utility"),
        ),
    ),
    Claim(
        14,
        "η = 1e-5 is too slow, and η = 1e-2 does not converge.",
        "Fig. 5",
        _RATES,
        is_about_rates=True,
    ),
    Claim(
        15,
        "The gradient norm lies below the corrected bound, with constants estimated from the run.",
        "Theorems",
        tuple(Comparison(f"{BOUND_OF}{name}", MEASURED, "bound") for name in BOUND_METHODS),
    ),
)
"""What was known when they were written is said in docs/reproduction.md."""

Scores = Callable[[str, str], Mapping[int, float]]
"""From a method's name and a measure to one number per seed."""


def decide(comparison: Comparison, scores: Scores) -> Verdict:
    """Hold a comparison against the runs that are there."""
    measure = MEASURES[comparison.measure]
    found = [scores(name, comparison.measure) for name in (comparison.better, comparison.worse)]
    was_run = all(found)
    ours, theirs = (_signed(numbers, measure.sign) for numbers in found)
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        return Verdict(comparison, "undecided", UNKNOWN, UNKNOWN, UNKNOWN, 0, was_run)
    effect = mean_interval([ours[seed] - theirs[seed] for seed in shared])
    return Verdict(
        comparison,
        verdict_of(effect, measure.negligible, len(shared)),
        effect,
        paired_difference(ours, theirs),
        probability_of_improvement(list(ours.values()), list(theirs.values())),
        len(shared),
        was_run,
    )


def verdict_of(effect: Interval, negligible: float, seeds: int) -> VerdictWord:
    """The rule at the top of this file.

    >>> verdict_of(Interval(0.02, 0.01, 0.03), negligible=0.005, seeds=5)
    'supported'
    >>> verdict_of(Interval(0.001, -0.001, 0.003), negligible=0.005, seeds=5)
    'not supported'
    """
    if seeds < LEAST_SEEDS:
        return "undecided"
    if effect.low > 0 and effect.value >= negligible:
        return "supported"
    return "not supported" if effect.high < negligible else "undecided"


def together(verdicts: Sequence[Verdict]) -> VerdictWord | NoVerdict:
    """What verdicts on its comparisons make of a claim."""
    words = {verdict.word for verdict in verdicts}
    if not words:
        return "it is about η itself"
    if "not supported" in words:
        return "not supported"
    if not all(verdict.was_run for verdict in verdicts):
        return "not run yet"
    return "supported" if words == {"supported"} else "undecided"


def weakest(verdicts: Sequence[Verdict]) -> Verdict:
    """The comparison that speaks most against a claim: the worst of those that decide it."""
    known = [verdict for verdict in verdicts if verdict.seeds] or verdicts
    return min(known, key=lambda verdict: (WORST_FIRST[verdict.word], _in_negligibles(verdict)))


def _in_negligibles(verdict: Verdict) -> float:
    """An effect in units that all measures share."""
    return verdict.effect.value / MEASURES[verdict.comparison.measure].negligible


def _signed(values: Mapping[int, float], sign: int) -> dict[int, float]:
    """Numbers of which more is better, by seed; seeds without one are left out."""
    return {seed: sign * value for seed, value in values.items() if math.isfinite(value)}
