"""`fmarl evaluate`: play test epochs with the parameters that a run ended with."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tyro

from fmarl.cli.output import Flag, print_json, print_table, print_text, progress_line
from fmarl.engine.evaluate_run import evaluate_run
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import read_experiment
from fmarl.errors import require
from fmarl.launch.exit_codes import RUN_ERRORS, report_error
from fmarl.records.frames import write_frames
from fmarl.records.score import measure_in, score_in
from fmarl.report.statistics import mean_interval
from fmarl.rollout.evaluate import MOST_REPETITIONS, Evaluation
from fmarl.rollout.seeds import MAX_RUN_SEED

LEAST = ("ended early", "low and high")
"""Columns that a narrow terminal does without, the first of them first."""


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Test what runs have learned: average parameters, no chance in actions, epochs of its own."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of the runs."""
    repetitions: int = 20
    """Epochs to play with each run."""
    seed: int = 1_000_000
    """Decides the epochs; the same for all runs, and other ones than in training's tests."""
    frames: Path | None = None
    """Record where every vehicle was in the first epoch to this file (.npz); for one run."""
    quiet: Flag = False
    """Show no progress."""
    json: Flag = False
    """Print everything as JSON, and show no progress."""

    def run(self) -> int:
        require(bool(self.runs), "no run", "one folder or more", "Name one, such as runs/NAME.")
        one_run = self.frames is None or len(self.runs) == 1
        require(one_run, f"--frames for {len(self.runs)} runs", "one run", "Name one run.")
        most = f"1 to {MOST_REPETITIONS}"
        fits = 1 <= self.repetitions <= MOST_REPETITIONS
        require(fits, f"--repetitions {self.repetitions}", most, "Use --repetitions 20.")
        require(
            0 <= self.seed <= MAX_RUN_SEED,
            f"--seed {self.seed}",
            f"0 to {MAX_RUN_SEED}",
            "Use --seed 0.",
        )
        experiments = {folder: read_experiment(folder) for folder in self.runs}
        try:
            with progress_line(quiet=self.quiet or self.json) as say:
                results = {
                    folder: self._evaluate(folder, experiment, say)
                    for folder, experiment in experiments.items()
                }
        except RUN_ERRORS as problem:
            return report_error(problem)
        self._show(results, {folder: one.world for folder, one in experiments.items()})
        return 0

    def _evaluate(
        self, folder: Path, experiment: Experiment, say: Callable[[str], None]
    ) -> Evaluation:
        def played(epochs: int) -> None:
            say(f"{folder}: {epochs} of {self.repetitions} test epochs")

        wanted = self.frames is not None
        result = evaluate_run(
            folder, experiment, self.repetitions, self.seed, frames=wanted, played=played
        )
        if self.frames is not None:
            require(result.frames is not None, f"--frames in {experiment.world}", "a road", "Omit.")
            write_frames(self.frames, list(result.frames if result.frames is not None else []))
        return result

    def _show(self, results: dict[Path, Evaluation], worlds: dict[Path, str]) -> None:
        if self.json:
            facts = {str(one): _facts(result, worlds[one]) for one, result in results.items()}
            print_json({"repetitions": self.repetitions, "seed": self.seed, "runs": facts})
            return
        title = f"{self.repetitions} test epochs each, seed {self.seed}"
        rows = [_row(str(one), result, worlds[one]) for one, result in results.items()]
        print_table(title, list(rows[0]), [[*row.values()] for row in rows], least=LEAST)
        if returns := [one for one, world in worlds.items() if measure_in(world) == "return"]:
            print_text("low and high of returns: 95 % interval over the agents of one run")
        if len(returns) < len(worlds):
            print_text("low and high: 95 % interval over the epochs of one run, not over seeds")


def _row(name: str, result: Evaluation, world: str) -> dict[str, object]:
    measure = measure_in(world)
    known = [value for value in result.returns if not math.isnan(value)]
    mean, low, high = mean_interval(known if measure == "return" else result.rewards)
    ends = {"low": low, "high": high, "ended early": sum(result.crashed)}
    return {"run": name, "measure": measure, "mean": mean, **ends}


def _facts(result: Evaluation, world: str) -> dict[str, object]:
    facts = result._asdict()
    del facts["frames"]
    mean, low, high = mean_interval(result.rewards)
    score = score_in({**facts, "mean": mean}, world)
    scored = {"measure": measure_in(world), "score": score}
    return {**facts, "mean": mean, "low": low, "high": high, **scored}
