"""The numbers printed in the paper. Nothing else in the project knows them.

What the paper leaves open is inferred, and each inference is stated where it stands; the tests of
docs/paper-audit.md show how far the printed digits decide it.
"""

from typing import NamedTuple

NUM_EPOCHS = 500
EPOCH_STEPS = 1500
STEPS_PER_UPDATE = 250
LEARNING_RATE = 1e-4
SYNC_PERIOD = 15
CONSENSUS_STEP = 0.1
NUM_AGENTS = 7
"""Table III, for Figure Eight."""

INITIAL_GRADIENT_NORM = 33.5344
"""ψ2. Not printed: with min–max normalisation, only values from 33.5330 to 33.5359 give all 13
printed utilities to their four digits."""

FAST_TO_SLOW = {
    "1-15": (15, 13, 11, 9, 7, 5, 3),
    "5-15": (15, 14, 13, 12, 10, 9, 8),
    "10-15": (15, 15, 14, 14, 13, 12, 12),
}
"""The τ_i behind "τ = 1∼15" and so on. Not printed: Table IV's computation overheads fix only their
sums, 63, 81 and 95. One rule, τ_i = 15 − ⌊(i−1)c⌋ with c = 2, 1.25 and 0.625, gives all three."""

EVEN_UPDATES = {
    "1-15": "15,14,12,10,7,4,1",
    "5-15": "15,15,14,13,11,8,5",
    "10-15": "15,15,15,15,13,12,10",
}
"""Other τ_i with the same sums, as even as they can be while they reach the ends of their range."""

RATES = (1e-5, 1e-4, 1e-3, 1e-2)
"""η of Fig. 5, as far as its text names them."""

STATEMENTS = {
    "fig4": "FL clearly improves IRL in training efficiency and stability. With a delay of 2 epochs "
    "on both links, agents in FIRL_syn update their parameters every iteration, those in FIRL_asy "
    "only every 2 epochs: a smaller updating frequency may reduce the effectiveness of FL. All "
    "vehicles under SUMO are the optimal baseline.",
    "fig5": "With a proper η, such as 1e-3, the performance gradually converges. An over-trivial η "
    "slows the convergence, as the curves with 1e-5 show; an overlarge one suffers from "
    "catastrophic forgetting and is hard to converge, as those with 1e-2 show.",
    "fig6": "(a) Performance declines as the number of local updates τ or its mean ν increases. (b) "
    "FIRL_D improves convergence, and a smaller λ generates a faster convergence rate. (c) "
    "Performance is improved when local interactions are considered, even with various numbers of "
    "local updates; a larger μ2 or a greater E generally obtains better performance.",
    "fig6-merge": "FIRL_C can stabilize the model's training process, meanwhile performs well across "
    "different policy gradient methods. (Adjacent vehicles are connected: μ2 = 0.3820.)",
    "fig7": "Compared with FIRL at τ=1, τ=10 and τ=1∼15, FIRL_D and FIRL_C have higher starting "
    "points. Methods with the same maximal range of τ converge to a similar level; the magnified "
    "image shows that FIRL_D and FIRL_C maintain better performance.",
    "table4": "With the same overheads as FIRL τ=1∼15, FIRL_D maintains a smaller expected gradient "
    "norm, thus a greater utility. FIRL_C requires more resources in local interactions, but its "
    "gradient norm is smaller, so utility also improves when W1 and W2 are small.",
}
"""What the text says of each figure and table, shortened."""


class TableRow(NamedTuple):
    """One row of Table IV: what was run, what it cost, and what came out."""

    method: str
    label: str
    local_updates: tuple[int, ...]
    decay_rate: float
    graph: str | None
    """The 13-edge graph with μ2 = 1.4384 is one of two (`paper-13`, `paper-13-other`); the 16-edge
    graph with μ2 = 2.5188 is unique."""
    consensus_rounds: int
    uploads: int
    updates: int
    exchanges: int
    gradient_norm: float
    utility: float

    @property
    def name(self) -> str:
        """What it is called everywhere, such as "FIRL_D τ=1∼15 λ=0.92"."""
        return f"{self.method} {self.label}"

    @property
    def sync_period(self) -> int:
        """τ: the fastest agent's number of updates."""
        return max(self.local_updates)


_ALL_1, _ALL_10, _ALL_15 = ((period,) * NUM_AGENTS for period in (1, 10, 15))
_10_TO_15, _5_TO_15, _1_TO_15 = (FAST_TO_SLOW[name] for name in ("10-15", "5-15", "1-15"))

# fmt: off
TABLE_4: tuple[TableRow, ...] = (
    #         method    label                    τ_i        λ     graph      E  C1     C2     W1, W2  norm     utility
    TableRow("FIRL",   "τ=1",                   _ALL_1,    1.0,  None,       0, 21000, 21000, 0,      1.5590,  0.0),
    TableRow("FIRL",   "τ=10",                  _ALL_10,   1.0,  None,       0, 2100,  21000, 0,      6.3421,  0.5734),
    TableRow("FIRL",   "τ=15",                  _ALL_15,   1.0,  None,       0, 1400,  21000, 0,      9.6069,  0.7809),
    TableRow("FIRL",   "τ=10∼15",               _10_TO_15, 1.0,  None,       0, 1400,  19000, 0,      10.1892, 0.7601),
    TableRow("FIRL",   "τ=5∼15",                _5_TO_15,  1.0,  None,       0, 1400,  16200, 0,      8.7182,  0.8130),
    TableRow("FIRL",   "τ=1∼15",                _1_TO_15,  1.0,  None,       0, 1400,  12600, 0,      7.6476,  0.8516),
    TableRow("FIRL_D", "τ=1∼15 λ=0.98",         _1_TO_15,  0.98, None,       0, 1400,  12600, 0,      7.2782,  0.8649),
    TableRow("FIRL_D", "τ=1∼15 λ=0.95",         _1_TO_15,  0.95, None,       0, 1400,  12600, 0,      7.2537,  0.8657),
    TableRow("FIRL_D", "τ=1∼15 λ=0.92",         _1_TO_15,  0.92, None,       0, 1400,  12600, 0,      3.5090,  1.0),
    TableRow("FIRL_C", "τ=15 E=1 μ2=1.4384",    _ALL_15,   1.0,  "paper-13", 1, 1400,  21000, 78000,  3.6188,  0.9336),
    TableRow("FIRL_C", "τ=15 E=1 μ2=2.5188",    _ALL_15,   1.0,  "paper-16", 1, 1400,  21000, 96000,  2.1648,  0.9688),
    TableRow("FIRL_C", "τ=15 E=2 μ2=1.4384",    _ALL_15,   1.0,  "paper-13", 2, 1400,  21000, 156000, 2.8746,  0.9023),
    TableRow("FIRL_C", "τ=1∼15 E=1 μ2=1.4384",  _1_TO_15,  1.0,  "paper-13", 1, 1400,  12600, 78000,  3.6072,  0.9346),
)
# fmt: on
"""Table IV, "Numerical simulation results in the Figure Eight scenario", row by row."""

TABLE_NAMES = tuple(row.name for row in TABLE_4)
TAU_1, TAU_10, TAU_15, TAU_10_15, TAU_5_15, TAU_1_15 = TABLE_NAMES[:6]
DECAY_98, DECAY_95, DECAY_92 = TABLE_NAMES[6:9]
CONSENSUS, CONSENSUS_DENSE, CONSENSUS_TWICE, CONSENSUS_1_15 = TABLE_NAMES[9:]

IRL, SYN, ASY = "IRL", "FIRL_syn", "FIRL_asy"
"""What Fig. 4 adds: no federation, and federation over slow links."""
MERGE_NAMES = tuple(
    f"Merge {algorithm} {label}"
    for algorithm in ("PPO", "TRPO", "TAC")
    for label in ("FIRL", "FIRL_C")
)
"""Fig. 6 d, e and f: three algorithms, without and with consensus along the road."""
SUMO, MERGE_SUMO = "SUMO", "Merge SUMO"
"""All vehicles driven by SUMO: what the paper calls the optimal baseline."""


def rated(name: str, rate: float) -> str:
    """How a method at another learning rate is called.

    >>> rated("IRL", 1e-3)
    'IRL η=0.001'
    """
    return f"{name} η={rate:g}"


RATED = (TAU_1_15, DECAY_92)
"""Methods of Fig. 5."""
FIGURE_6_PANELS = {
    "a": (TAU_1, TAU_10, TAU_15, TAU_10_15, TAU_5_15, TAU_1_15),
    "b": (TAU_1_15, DECAY_98, DECAY_95, DECAY_92),
    "c": (TAU_15, TAU_1_15, CONSENSUS, CONSENSUS_DENSE, CONSENSUS_TWICE, CONSENSUS_1_15),
}
"""Methods of the panels on Figure Eight."""
FIGURE_7_NAMES = (TAU_1, TAU_10, TAU_1_15, DECAY_92, CONSENSUS, CONSENSUS_1_15)
"""The paper shows "some representative methods", of which its text names these kinds."""

_FIGURE_6 = tuple(name for panel in FIGURE_6_PANELS.values() for name in panel)
PARTS: dict[str, tuple[str, ...]] = {
    "fig4": (IRL, TAU_1, SYN, ASY, SUMO),
    "fig5": tuple(rated(name, rate) for name in RATED for rate in RATES),
    "fig6": (*_FIGURE_6, SUMO, *MERGE_NAMES, MERGE_SUMO),
    "fig7": FIGURE_7_NAMES,
    "table4": (*TABLE_NAMES, SUMO),
}
"""From the word of the command line to the methods of a figure or table; with the table comes what
SUMO reaches, for the claims about it."""
