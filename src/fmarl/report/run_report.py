"""A report on any set of runs: a page for someone who got it by mail, its figures and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fmarl.report.bound_curve import BoundCurve, bound_of
from fmarl.report.csv_tables import curves_sheet, table_sheet
from fmarl.report.format import counted, listed
from fmarl.report.gradient_section import gradient_section, measured_groups
from fmarl.report.group_scores import GroupComparison, GroupScores, compare, score
from fmarl.report.methods_section import mixing_groups, together_section
from fmarl.report.mpl_style import Figure, figure_bytes
from fmarl.report.page import Link, Section, Text, page
from fmarl.report.results_section import results_section
from fmarl.report.run_figures import (
    Bounds,
    gradient_figure,
    has_tests,
    learning_figure,
    topology_figure,
)
from fmarl.report.run_reader import RecordedRun
from fmarl.report.run_set import RunSet, reference_of
from fmarl.report.run_settings_section import runs_section, settings_section

Constants = Mapping[str, Mapping[str, float] | str]
"""By the name of a run: what was estimated from it just now, or why that could not be done."""


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """What a report says; the same runs say the same, bit for bit."""

    runs: RunSet
    against: str = ""
    """Label of the group that others are compared with; else the first of each scene."""
    constants: Constants

    @cached_property
    def scores(self) -> list[GroupScores]:
        return [score(group) for group in self.runs.groups]

    @cached_property
    def comparisons(self) -> dict[str, list[GroupComparison]]:
        """Per scene, every other group against the reference."""
        found = {}
        for scene, groups in self.runs.scenes.items():
            reference = reference_of(groups, self.against)
            others = [group for group in groups if group is not reference]
            found[scene] = [compare(group, reference) for group in others]
        return found

    @cached_property
    def bounds(self) -> Bounds:
        """Per run, its bound or why there is none."""
        return {run.name: self._bound(run) for run in self.runs.runs}

    def _bound(self, run: RecordedRun) -> BoundCurve | str:
        given = self.constants.get(run.name)
        return given if isinstance(given, str) else bound_of(run, given)

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """All figures by name; only those that have something to show."""
        groups = self.runs.groups
        scenes = enumerate(self.runs.scenes.values(), start=1)
        curves = {
            f"curves-{place}": learning_figure(found) for place, found in scenes if has_tests(found)
        }
        measured, mixing = measured_groups(groups), mixing_groups(groups)
        gradient = {"gradient": gradient_figure(measured, self.bounds)} if measured else {}
        topology = {"topology": topology_figure(mixing)} if mixing else {}
        return {**curves, **gradient, **topology}

    def files(self) -> dict[str, bytes]:
        files = {
            f"figures/{name}.{kind}": figure_bytes(figure, kind)
            for name, figure in self.figures.items()
            for kind in ("png", "pdf")
        }
        return {
            **files,
            "curves.csv": curves_sheet(self.runs.groups),
            "table.csv": table_sheet(self.scores),
            "report.html": self.page().encode(),
        }

    def page(self) -> str:
        return page(
            _title(self.runs),
            _lead(self.runs),
            [
                *self._results(),
                gradient_section(self.scores, self.bounds, self.figures.get("gradient")),
                together_section(self.runs.groups, self.figures.get("topology")),
                settings_section(self.runs, self.against),
                runs_section(self.runs),
            ],
            "Made by fmarl. All numbers come from the runs listed here; nothing was left out.",
        )

    def _results(self) -> list[Section]:
        several = len(self.runs.scenes) > 1
        return [
            results_section(
                f"Results on {scene}" if several else "Results",
                f"results-{place}",
                [row for row in self.scores if row.group.scene == scene],
                self.comparisons[scene],
                self.figures.get(f"curves-{place}"),
            )
            for place, scene in enumerate(self.runs.scenes, start=1)
        ]


def _title(runs: RunSet) -> str:
    scenes = list(runs.scenes)
    where = scenes[0] if len(scenes) == 1 else counted(len(scenes), "world")
    what = runs.groups[0].label if len(runs.groups) == 1 else counted(len(runs.runs), "run")
    return f"{what} on {where}"


def _lead(runs: RunSet) -> Text:
    """Who, how many, when, and what is not as it should be."""
    groups, found = runs.groups, runs.runs
    kinds = listed([group.label for group in groups])
    begun = _when([run.description["started"] for run in found])
    what = (
        f"{counted(len(found), 'run')} of {counted(len(groups), 'kind')} ({kinds}) on "
        f"{listed(list(runs.scenes))}, {_seeds([run.seed for run in found])}, {begun}: "
        f"{_states([run.state for run in found])}."
    )
    pieces: list[str | Link] = [what]
    if any(group.unfinished for group in groups):
        pieces += [" Runs that are not finished count as far as they have come."]
    if runs.unused:
        count = counted(len(runs.unused), "more run")
        pieces += [f" {count} found and not used: ", Link("see why", "runs"), "."]
    return pieces


def _states(states: Sequence[str]) -> str:
    """How many are in each state; what is done comes first."""
    known = sorted(set(states), key=lambda state: (state != "done", state))
    return ", ".join(f"{states.count(state)} {state}" for state in known)


def _seeds(seeds: Sequence[int]) -> str:
    """Seeds in words, as a range where none is missing."""
    known = sorted(set(seeds))
    if len(known) == 1:
        return f"seed {known[0]}"
    whole = known == list(range(known[0], known[-1] + 1))
    return f"seeds {known[0]}–{known[-1]}" if whole else f"seeds {', '.join(map(str, known))}"


def _when(times: Sequence[str]) -> str:
    """The days on which the runs were begun."""
    first, last = min(times)[:10], max(times)[:10]
    return f"begun on {first}" if first == last else f"begun from {first} to {last}"
