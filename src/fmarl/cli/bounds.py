"""`fmarl bounds`: what a method is proved to reach, what it costs, and what that is worth."""

import math
from dataclasses import dataclass, field
from pathlib import Path

import tyro

from fmarl.cli.bounds_output import (
    draw_against,
    show_citations,
    show_many,
    show_one,
    show_paper_table,
    show_truth,
    to_facts,
)
from fmarl.cli.bounds_setting import Axis, Setting, read_settings
from fmarl.cli.output import Flag, print_json, warn
from fmarl.errors import BadInput, require
from fmarl.theory.catalogue import BoundsResult, evaluate_bounds


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Convergence bounds, cost and utility: the paper's printed forms beside corrected ones."""

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
        if self.paper_table or self.truth:
            word = "--paper-table" if self.paper_table else "--truth"
            changed = self.settings is not None or self.setting != Setting()
            require(not changed, f"{word} with settings", "it has its own", "Leave one out.")
        if self.paper_table:
            return show_paper_table(as_json=self.json)
        if self.truth:
            return show_truth(self.plot)
        settings = [self.setting]
        if self.settings is not None:
            settings = read_settings(self.settings, self.setting)
        results = [evaluate_bounds(setting.problem(), setting.plan()) for setting in settings]
        for setting, result in zip(settings, results, strict=True):
            problem = learning_rate_problem(setting, result)
            if problem and self.strict:
                raise BadInput(problem)
            for message in filter(None, (problem, setting.warning())):
                warn(message)
        if self.plot is not None:
            draw_against(settings[0], self.against, self.plot)
        self._show(settings, results)
        if self.cite:
            show_citations()
        return 0

    def _show(self, settings: list[Setting], results: list[BoundsResult]) -> None:
        if self.json:
            print_json([to_facts(*pair) for pair in zip(settings, results, strict=True)])
        elif len(results) == 1:
            show_one(settings[0], results[0])
        else:
            show_many([setting.title() for setting in settings], results)


def learning_rate_problem(setting: Setting, result: BoundsResult) -> str | None:
    """What to say when the learning rate is too large for the printed condition (14)."""
    largest = result.largest_learning_rate
    if setting.learning_rate <= largest * (1 + 1e-12):
        return None
    # Round down: the suggested value must itself be admissible.
    mantissa, exponent = f"{largest:.12e}".split("e")
    suggestion = float(f"{math.floor(float(mantissa) * 1000) / 1000}e{exponent}")
    return (
        f"{setting.title()}: learning_rate = {setting.learning_rate:g} violates Eq. (14), so no "
        f"bound is proved: at most {suggestion:g} for L = {setting.smoothness:g} and "
        f"τ = {setting.sync_period}. Lower it, or the sync period."
    )
