"""What the comparison found: a file per task, and the tables that the page and the terminal show.

Files hold what was seen; everything that follows from it is calculated here.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fmarl.report.statistics import Interval, probability_of_improvement
from peers.tasks import TASKS
from peers.their_words import settings
from peers.verdict import Verdict, judge

RESULTS = Path(__file__).parent / "results"
SIDES = ("ours", "theirs")


class Result(NamedTuple):
    """One run of one side."""

    side: str
    seed: int
    returns: list[float]
    """Of the episodes that count, each from its own seed, without chance in the actions."""
    training_return: float
    """Mean over the episodes that ended while it trained."""
    cpu_seconds: float
    """Of the training."""
    failed: str = ""
    """Why there was nothing to play with; empty where there was."""

    @property
    def score(self) -> float:
        """Mean return."""
        return float(np.mean(self.returns))


class Comparison(NamedTuple):
    """All runs of a task."""

    task: str
    runs: list[Result]

    def of(self, side: str) -> list[Result]:
        """The runs of one side."""
        return [run for run in self.runs if run.side == side]

    @property
    def verdict(self) -> Verdict:
        """Whether we are worse."""
        ours, theirs = ([run.score for run in self.of(side)] for side in SIDES)
        return judge(ours, theirs, TASKS[self.task].solved)

    @property
    def improvement_in_training(self) -> Interval:
        """Probability that a run of ours earned more while it trained: who learns faster."""
        ours, theirs = ([run.training_return for run in self.of(side)] for side in SIDES)
        return probability_of_improvement(ours, theirs)


def write(comparison: Comparison, circumstances: dict[str, Any]) -> None:
    """Leave a comparison, and how it came about, in the file of its task; a run is a line."""
    facts = {"task": comparison.task, **circumstances}
    head = json.dumps(facts, indent=1).removesuffix("\n}")
    runs = ",\n  ".join(encode(run).decode() for run in comparison.runs)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{comparison.task}.json").write_text(f'{head},\n "runs": [\n  {runs}\n ]\n}}\n')


def read(path: Path) -> Comparison:
    """A comparison from its file."""
    content = json.loads(path.read_text())
    return Comparison(content["task"], [_result(run) for run in content["runs"]])


def encode(result: Result) -> bytes:
    """A result for a file, with its score for whoever reads it there."""
    facts = {"score": result.score, **result._asdict()}
    return json.dumps(facts, allow_nan=False).encode()


def decode(content: bytes) -> Result:
    """A result from its file."""
    return _result(json.loads(content))


def _result(facts: dict[str, Any]) -> Result:
    return Result(**{name: facts[name] for name in Result._fields})


def settings_table() -> str:
    """What both sides are told, in Markdown and in the other side's words, which are known best."""
    rows = [
        _row([name, task.env_id, f"{task.steps:,}", _spelled(settings(task))])
        for name, task in TASKS.items()
    ]
    return "\n".join(["| task | environment | steps | settings |", "|---|---|---|---|", *rows])


def tables(comparisons: Sequence[Comparison]) -> str:
    """Two tables in Markdown: how each side did, and how we compare."""
    scores = [_side_row(one, side) for one in comparisons for side in SIDES]
    verdicts = [_verdict_row(one) for one in comparisons]
    return "\n".join(
        [
            "| task | side | runs (failed) | IQM | 95 % interval | mean | while training | CPU s |",
            "|---|---|---|---|---|---|---|---|",
            *scores,
            "",
            "| task | P(ours > theirs) | P(ours > theirs) while training | our IQM | at least | |",
            "|---|---|---|---|---|---|",
            *verdicts,
        ]
    )


def _spelled(words: dict[str, Any]) -> str:
    """Names and values in a line, those of inner records as well."""
    inner = {name: _spelled(one) for name, one in words.items() if isinstance(one, dict)}
    return " ".join(inner.get(name, f"`{name}={one}`") for name, one in words.items())


def _side_row(comparison: Comparison, side: str) -> str:
    runs, verdict = comparison.of(side), comparison.verdict
    middle: Interval = getattr(verdict, side)
    failed = sum(bool(run.failed) for run in runs)
    means = [
        np.mean([getattr(run, name) for run in runs])
        for name in ("score", "training_return", "cpu_seconds")
    ]
    cells = [comparison.task, side, f"{len(runs)} ({failed})", f"{middle.value:.1f}"]
    cells += [f"{middle.low:.1f} to {middle.high:.1f}", *(f"{mean:.1f}" for mean in means)]
    return _row(cells)


def _verdict_row(comparison: Comparison) -> str:
    verdict = comparison.verdict
    chances = [verdict.improvement, comparison.improvement_in_training]
    shown = [f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})" for one in chances]
    middles = [f"{verdict.ours.value:.1f}", f"{verdict.required:.1f}"]
    return _row([comparison.task, *shown, *middles, "passed" if verdict.passed else "FAILED"])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
