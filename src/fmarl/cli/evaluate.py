"""`fmarl evaluate`: play test epochs with the parameters that a run ended with."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from fmarl.cli.output import Flag, print_json, print_lines, print_table
from fmarl.engine.evaluate_run import evaluate_run
from fmarl.engine.run import read_experiment
from fmarl.errors import require
from fmarl.records.frames import write_frames
from fmarl.report.statistics import mean_interval
from fmarl.rollout.evaluate import Evaluation


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
    json: Flag = False
    """Print everything as JSON."""

    def run(self) -> int:
        require(bool(self.runs), "no run", "one folder or more", "Name one, such as runs/NAME.")
        one_run = self.frames is None or len(self.runs) == 1
        require(one_run, f"--frames for {len(self.runs)} runs", "one run", "Name one run.")
        results = {str(folder): self._evaluate(folder) for folder in self.runs}
        self._show(results)
        return 0

    def _evaluate(self, folder: Path) -> Evaluation:
        experiment = read_experiment(folder)
        wanted = self.frames is not None
        result = evaluate_run(folder, experiment, self.repetitions, self.seed, frames=wanted)
        if self.frames is not None:
            require(result.frames is not None, f"--frames in {experiment.world}", "a road", "Omit.")
            write_frames(self.frames, list(result.frames if result.frames is not None else []))
        return result

    def _show(self, results: dict[str, Evaluation]) -> None:
        if self.json:
            facts = {name: _facts(result) for name, result in results.items()}
            print_json({"repetitions": self.repetitions, "seed": self.seed, "runs": facts})
            return
        title = f"{self.repetitions} test epochs each, seed {self.seed}"
        columns = ["run", "mean reward", "low", "high", "crashed", "mean return"]
        rows = []
        for name, one in results.items():
            returns = sum(one.returns) / len(one.returns)
            rows.append([name, *mean_interval(one.rewards), sum(one.crashed), returns])
        print_table(title, columns, rows)
        print_lines("low and high: 95 % interval over the epochs of one run, not over seeds")


def _facts(result: Evaluation) -> dict[str, object]:
    facts = result._asdict()
    del facts["frames"]
    mean, low, high = mean_interval(result.rewards)
    return {**facts, "mean": mean, "low": low, "high": high}
