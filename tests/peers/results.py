"""What the comparison found: a file per task that holds every run, and the verdict on a task.

Intervals are 95 % percentile bootstraps over seeds (Agarwal et al. 2021, "Deep reinforcement
learning at the edge of the statistical precipice").
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fmarl.report.statistics import Interval, probability_of_improvement
from peers.bootstrap import bootstrap_interval
from peers.tasks import TASKS

RESULTS = Path(__file__).parent / "results"
SIDES = ("ours", "theirs")


class PeerRun(NamedTuple):
    """One run of one side."""

    side: str
    seed: int
    returns: list[float]
    """Of the scored episodes, each from its own seed, with deterministic actions."""
    training_return: float
    """Mean over the episodes that ended during training."""
    cpu_seconds: float
    """Of the training."""
    failed: str = ""
    """Why there is no policy to score; empty if there is one."""

    @property
    def score(self) -> float:
        """Mean return."""
        return float(np.mean(self.returns))


class PeerVerdict(NamedTuple):
    """How the two sides compare on a task."""

    improvement: Interval
    """Probability that a run of ours scores higher than one of theirs; a tie counts half."""
    ours: Interval
    """Interquartile mean."""
    theirs: Interval
    required: float
    """What our interquartile mean must reach."""

    @property
    def passed(self) -> bool:
        """Whether nothing says that ours is worse."""
        return self.improvement.high >= 0.5 and self.ours.value >= self.required


class PeerComparison(NamedTuple):
    """All runs of a task."""

    task: str
    runs: list[PeerRun]

    def of(self, side: str) -> list[PeerRun]:
        return [run for run in self.runs if run.side == side]

    @property
    def verdict(self) -> PeerVerdict:
        ours, theirs = ([run.score for run in self.of(side)] for side in SIDES)
        return judge(ours, theirs, TASKS[self.task].solved)

    @property
    def improvement_in_training(self) -> Interval:
        """Probability that a run of ours had the higher return in training: who learns faster."""
        ours, theirs = ([run.training_return for run in self.of(side)] for side in SIDES)
        return probability_of_improvement(ours, theirs)


def judge(ours: Sequence[float], theirs: Sequence[float], solved: float | None) -> PeerVerdict:
    """Compare the scores of all runs, failed ones included.

    >>> judge([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], solved=None).improvement.value
    0.5
    """
    improvement = probability_of_improvement(ours, theirs)
    our_iqm, their_iqm = (bootstrap_interval(side, "iqm") for side in (ours, theirs))
    required = their_iqm.low if solved is None else solved
    return PeerVerdict(improvement, our_iqm, their_iqm, required)


def write(comparison: PeerComparison, provenance: dict[str, Any]) -> None:
    """Write a comparison, and how it was made, to the file of its task; a run is a line."""
    head = json.dumps({"task": comparison.task, **provenance}, indent=1).removesuffix("\n}")
    runs = ",\n  ".join(encode(run).decode() for run in comparison.runs)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{comparison.task}.json").write_text(f'{head},\n "runs": [\n  {runs}\n ]\n}}\n')


def compared_tasks() -> list[str]:
    """Tasks that have results; `make test-peers` compares the others."""
    return [name for name in TASKS if (RESULTS / f"{name}.json").exists()]


def read(name: str) -> PeerComparison:
    """The comparison of a task from its file."""
    content = json.loads((RESULTS / f"{name}.json").read_text())
    return PeerComparison(content["task"], [_run(run) for run in content["runs"]])


def encode(run: PeerRun) -> bytes:
    """A run for a file, with its score for whoever reads it there."""
    return json.dumps({"score": run.score, **run._asdict()}, allow_nan=False).encode()


def decode(content: bytes) -> PeerRun:
    """A run from its file."""
    return _run(json.loads(content))


def _run(facts: dict[str, Any]) -> PeerRun:
    return PeerRun(**{name: facts[name] for name in PeerRun._fields})
