"""`fmarl bounds`: what a method is proved to reach, what it costs, and what that is worth."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from fmarl.cli.bounds_eval import BoundsResult, evaluate, step_problem
from fmarl.cli.bounds_exact import show_truth
from fmarl.cli.bounds_output import show_citations, show_evaluations
from fmarl.cli.bounds_plot import Axis, sweep
from fmarl.cli.bounds_setting import Setting
from fmarl.cli.bounds_table4 import show_paper_table
from fmarl.cli.output import Flag, warn
from fmarl.cli.settings_file import read_settings
from fmarl.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Convergence bounds, cost and utility: the paper's printed forms beside the corrected ones."""

    setting: tyro.conf.OmitArgPrefixes[Setting] = field(default_factory=Setting)
    settings: Path | None = None
    """JSON or TOML file with one or many settings; its values go before the flags."""
    json: Flag = False
    """Print everything as JSON."""
    plot: Path | None = None
    """Draw the bounds of the first setting to this file (.png, .pdf or .svg)."""
    against: Axis = "sync_period"
    """What the plot varies."""
    strict: Flag = False
    """Treat a learning rate that violates Eq. (14) as an error."""
    cite: Flag = False
    """Print the equations behind the numbers."""
    paper_table: Flag = False
    """Recompute the paper's Table IV, and nothing else."""
    truth: Flag = False
    """Hold the bounds of six methods against the exact truth on a quadratic loss, and nothing else;
    with --plot, draw three of them."""

    def run(self) -> int:
        """Print the answer."""
        if self.paper_table:
            return show_paper_table(as_json=self.json)
        if self.truth:
            return show_truth(self.plot)
        evaluations = [evaluate(setting) for setting in self._chosen()]
        _report_problems(evaluations, strict=self.strict)
        if self.plot is not None:
            sweep(evaluations[0].setting, self.against, self.plot)
        show_evaluations(evaluations, as_json=self.json)
        if self.cite:
            show_citations()
        return 0

    def _chosen(self) -> list[Setting]:
        if self.settings is None:
            return [self.setting]
        return read_settings(self.settings, self.setting)


def _report_problems(evaluations: Sequence[BoundsResult], *, strict: bool) -> None:
    for evaluation in evaluations:
        problem = step_problem(evaluation)
        if problem and strict:
            raise BadInput(problem)
        for message in (problem, evaluation.setting.warning()):
            if message:
                warn(message)
