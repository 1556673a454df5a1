"""The paper's claims as comparisons between methods; `verdicts` decides them."""

from collections.abc import Sequence
from itertools import pairwise

from fmarl.reproduce import paper
from fmarl.reproduce.bound_runs import BOUND_METHODS
from fmarl.reproduce.verdicts import Claim, Comparison


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
    Comparison(paper.rated(name, 1e-3), paper.rated(name, other), measure)
    for name in paper.RATED
    for other, measure in ((1e-5, "area"), (1e-2, "final"))
)
_DECAYED = (paper.DECAY_98, paper.DECAY_95, paper.DECAY_92)
_MIXED = (paper.CONSENSUS, paper.CONSENSUS_DENSE, paper.CONSENSUS_TWICE)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        1,
        "Federation improves independent learning in speed and in what is reached.",
        "Fig. 4",
        (Comparison(paper.TAU_1, paper.IRL, "epochs"), Comparison(paper.TAU_1, paper.IRL, "final")),
    ),
    Claim(
        2,
        "Under delay, updating less often hurts: FIRL_asy is worse than FIRL_syn.",
        "Fig. 4",
        _order((paper.SYN, paper.ASY), "area"),
    ),
    Claim(
        3,
        "NAS falls as τ grows.",
        "Fig. 6a",
        _order((paper.TAU_1, paper.TAU_10, paper.TAU_15), "area"),
    ),
    Claim(
        4,
        "NAS falls as the mean ν of the local updates grows.",
        "Fig. 6a",
        _order((paper.TAU_1_15, paper.TAU_5_15, paper.TAU_10_15, paper.TAU_15), "area"),
    ),
    Claim(
        5,
        "Decay lowers the expected gradient norm at equal cost.",
        "Table IV",
        _all_beat(_DECAYED, (paper.TAU_1_15,), "norm"),
    ),
    Claim(
        6,
        "A smaller λ converges faster.",
        "Fig. 6b",
        _order((paper.DECAY_92, paper.DECAY_95, paper.DECAY_98), "epochs"),
    ),
    Claim(
        7,
        "Consensus improves on τ = 15.",
        "Fig. 6c, Table IV",
        _order((paper.CONSENSUS, paper.TAU_15), "area", "norm"),
    ),
    Claim(
        8,
        "Consensus improves on τ = 1∼15.",
        "Fig. 6c, Table IV",
        _order((paper.CONSENSUS_1_15, paper.TAU_1_15), "area", "norm"),
    ),
    Claim(
        9,
        "A larger algebraic connectivity μ2 is better.",
        "Fig. 6c, Table IV",
        _order((paper.CONSENSUS_DENSE, paper.CONSENSUS), "area", "norm"),
    ),
    Claim(
        10,
        "More exchanges E per update are better.",
        "Fig. 6c, Table IV",
        _order((paper.CONSENSUS_TWICE, paper.CONSENSUS), "area", "norm"),
    ),
    Claim(11, "In Merge, consensus stabilises PPO, TRPO and TAC.", "Fig. 6d–f", _MERGE),
    Claim(
        12,
        "FIRL_D and FIRL_C give more NAS per unit of communication early on.",
        "Fig. 7",
        _all_beat(
            (paper.DECAY_92, paper.CONSENSUS),
            (paper.TAU_1, paper.TAU_10, paper.TAU_1_15),
            "efficiency",
        ),
    ),
    Claim(
        13,
        "FIRL_D and FIRL_C have more utility than FIRL, and FIRL more with larger τ.",
        "Table IV",
        (
            *_order((paper.TAU_15, paper.TAU_10, paper.TAU_1), "utility"),
            *_all_beat(_DECAYED, (paper.TAU_1_15,), "utility"),
            *_all_beat(_MIXED, (paper.TAU_15,), "utility"),
            Comparison(paper.CONSENSUS_1_15, paper.TAU_1_15, "utility"),
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
