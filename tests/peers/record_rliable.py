"""Records what rliable says of small groups of scores, into tests/golden/rliable.json.

    /path/to/python/with/rliable tests/peers/record_rliable.py [file]

Needs rliable 1.2.0, which does not work with pandas 3, and pytest. Every group is one task of
rliable's, so its stratified bootstrap resamples runs alone, as ours does.
"""

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

library = pytest.importorskip("rliable.library")
metrics = pytest.importorskip("rliable.metrics")

FILE = Path(__file__).parents[1] / "golden" / "rliable.json"
RESAMPLES = 20_000
CONFIDENCE = 0.95


class Case(NamedTuple):
    """Scores of two groups of runs."""

    ours: list[float]
    theirs: list[float]


def cases() -> dict[str, Case]:
    """Few runs and many, ties, groups of different size, long tails, no overlap."""
    random = np.random.default_rng(0)
    normal = random.normal(size=(2, 10)).round(3)
    tail = random.lognormal(sigma=1.5, size=(2, 12)).round(3)
    return {
        "three_runs": Case([1.0, 2.0, 4.0], [2.5, 0.5, 3.0]),
        "five_runs": Case([3.0, 1.0, 4.0, 1.5, 9.0], [2.0, 7.0, 1.8, 2.8, 1.7]),
        "ten_runs": Case((normal[0] + 0.5).round(3).tolist(), normal[1].tolist()),
        "long_tails": Case(tail[0].tolist(), tail[1].tolist()),
        "many_ties": Case([1.0, 2.0, 2.0, 3.0, 3.0, 3.0], [2.0, 3.0, 1.0, 3.0, 2.0, 2.0]),
        "other_sizes": Case(random.uniform(size=4).round(3).tolist(), normal[0].tolist()),
        "same_scores": Case([1.0, 5.0, 2.0, 4.0], [1.0, 5.0, 2.0, 4.0]),
        "no_overlap": Case([5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0, 4.5]),
    }


def record(case: Case) -> dict[str, Any]:
    """The groups, the estimates of ours alone, and how likely ours is higher than theirs."""
    ours, theirs = (np.array(group)[:, None] for group in case)
    return {
        **case._asdict(),
        "mean": _interval(metrics.aggregate_mean, ours),
        "iqm": _interval(metrics.aggregate_iqm, ours),
        "improvement": _interval(metrics.probability_of_improvement, ours, theirs),
    }


def _interval(metric: Callable[..., float], *groups: np.ndarray) -> dict[str, float]:
    np.random.seed(0)  # noqa: NPY002 — its bootstrap draws from there, whatever random_state is
    values, ends = library.get_interval_estimates(
        {"runs": groups[0] if len(groups) == 1 else list(groups)},
        lambda *resampled: np.array([metric(*resampled)]),
        reps=RESAMPLES,
        confidence_interval_size=CONFIDENCE,
    )
    found = dict(zip(("low", "high"), ends["runs"][:, 0].tolist(), strict=True))
    return {"value": values["runs"].item(), **found}


def main(file: Path) -> None:
    """Write everything into one file."""
    packages = ("rliable", "arch", "numpy", "scipy")
    facts = {
        "versions": {package: version(package) for package in packages},
        "resamples": RESAMPLES,
        "confidence": CONFIDENCE,
        "cases": {name: record(case) for name, case in cases().items()},
    }
    file.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FILE)
