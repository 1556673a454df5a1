"""What a test of a run found, as the one number that everything shows: tables, page and report."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

MEASURES = {
    "figure-eight": "NAS",
    "merge": "NAS",
    "toy-quadratic": "reward",
    "toy-bumpy": "reward",
}
"""What tests in worlds of ours measure; elsewhere it is the return."""


def measure_in(world: str) -> str:
    """What the tests of runs in a world measure.

    On roads it is the normalised average speed. In games of others a step's reward says little
    (in CartPole it is always 1), so there it is what an episode brings, mean over the agents.

    >>> measure_in("merge"), measure_in("gym:CartPole-v1"), measure_in("toy-bumpy")
    ('NAS', 'return', 'reward')
    """
    return MEASURES.get(world, "return")


def score_in(line: Mapping[str, Any], world: str) -> float:
    """What a line about a test in a world found; not a number if nothing.

    >>> score_in({"mean": 1.0, "returns": [11.0, None, 13.0]}, "gym:CartPole-v1")
    12.0
    """
    if measure_in(world) != "return":
        return math.nan if line.get("mean") is None else float(line["mean"])
    found = [math.nan if value is None else value for value in line.get("returns", [])]
    returns = [value for value in found if not math.isnan(value)]  # of agents that ever came
    return float(np.mean(returns)) if returns else math.nan


def score_text(value: float | None) -> str:
    """A score as tables show it: at least three decimals as NAS wants them, or three digits.

    >>> [score_text(value) for value in (0.1234, 21.5, 499.97, -0.0001234, -0.0, 1234567.8, None)]
    ['0.123', '21.5', '500.0', '-0.000123', '0.000', '1.23e+06', '–']
    """
    if value is None or not math.isfinite(value):
        return "–"
    if 0 < abs(value) < 0.1 or abs(value) >= 100_000:
        return f"{value:.3g}"
    return f"{value + 0:.{3 if abs(value) < 10 else 1}f}"
