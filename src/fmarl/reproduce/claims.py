"""The paper's claims as comparisons between methods; `verdicts` decides them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from fmarl.reproduce.bound_runs import BOUND_METHODS
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
from fmarl.reproduce.run_plan import rated


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
