"""Figures of a report on runs: which curves of which groups go into which panel."""

from collections.abc import Mapping, Sequence
from textwrap import fill

import numpy as np
from jaxtyping import Float, Int, Shaped

from fmarl.report.bound_curve import BoundCurve, NormCurve, norm_curve
from fmarl.report.curves import Panel, Series, draw_panels, mean_of_runs
from fmarl.report.figures import draw_graphs
from fmarl.report.format import counted
from fmarl.report.mpl_style import Figure
from fmarl.report.run_reader import RecordedRun
from fmarl.report.run_scores import baseline, learning_curve, measure_of
from fmarl.report.run_set import Group
from fmarl.report.statistics import interval_word, seed_band, seed_interval

MEGABYTE = 1e6
WIDE_APART = 4
"""How many times as much one method must send as another for a logarithmic axis."""
PANELS_PER_ROW = 3
COLUMNS = {1: 1, 2: 2, 4: 2}
"""For so many panels it is not that many."""
TITLE_WIDTH = 26
"""Characters that fit above one of them."""
NORM = "‖∇F(θ̄)‖²"

Points = tuple[Int[np.ndarray, " _"], Shaped[np.ndarray, " _"]]
"""A curve of one run: where, and how high."""
Bounds = Mapping[str, BoundCurve | str]
"""By the name of a run: its bound, or why there is none."""


def learning_figure(groups: Sequence[Group]) -> Figure:
    """Tests against epochs, and against what was sent by then."""
    levels = _levels(groups)
    level = seed_interval(levels) if levels else None
    y_label = f"{measure_of(groups[0].first)} in tests"
    tested = [group for group in groups if has_tests([group])]
    epochs = [_by_epoch(group) for group in tested]
    panels = [Panel("", epochs, "epochs of training", y_label, ticks="plain")]
    sent = [_by_bytes(group) for group in tested if sends(group)]
    if sent:
        panels.append(_on_fitting_axis(Panel("", sent, "MB sent by all agents", y_label)))
    drawn = [panel._replace(baseline=level, baseline_label="driven by SUMO") for panel in panels]
    return draw_panels(drawn, len(drawn))


def has_tests(groups: Sequence[Group]) -> bool:
    """Whether any test found a number."""
    return any(len(learning_curve(run).epochs) for group in groups for run in group.runs)


def sends(group: Group) -> bool:
    """Whether anything was sent before some test."""
    return any(learning_curve(run).bytes_sent.any() for run in group.runs)


def bounds_of(group: Group, bounds: Bounds) -> list[BoundCurve]:
    """The bounds of a group's runs that have one."""
    found = [bounds.get(run.name) for run in group.runs]
    return [one for one in found if isinstance(one, BoundCurve)]


def gradient_figure(groups: Sequence[Group], bounds: Bounds) -> Figure:
    """A panel per group: measured norms, their running mean, and the bound where there is one."""
    panels = [
        Panel(
            fill(group.label, width=TITLE_WIDTH),
            _norm_series(group, bounds_of(group, bounds)),
            "updates k",
            NORM,
            y_scale="log",
            ticks="plain",
        )
        for group in groups
    ]
    return draw_panels(panels, COLUMNS.get(len(panels), PANELS_PER_ROW))


def topology_figure(groups: Sequence[Group]) -> Figure:
    """Who mixes with whom, in the first round of every group that mixes."""
    return draw_graphs(
        [
            (group.label, links_of(group.first), group.first.method.num_agents)
            for group in groups
            if group.first.method
        ]
    )


def links_of(run: RecordedRun) -> list[tuple[int, int]]:
    """Pairs of neighbours in the first round; none if agents do not mix."""
    return run.method.links if run.method else []


def norms_of(run: RecordedRun) -> NormCurve | None:
    """What a run measured of its gradient."""
    return norm_curve(run.lines, int(run.method.sync_period) if run.method else 1)


def _on_fitting_axis(panel: Panel) -> Panel:
    """Logarithmic where methods differ so much that some would be squeezed into a corner."""
    ends = [float(series.x[-1]) for series in panel.series]
    far = max(ends) > WIDE_APART * min(ends)
    return panel._replace(x_scale="log", ticks="plain") if far else panel


def _levels(groups: Sequence[Group]) -> list[float]:
    """What SUMO's drivers reach on each seed; methods share the test epochs of a seed."""
    by_seed = {run.seed: baseline(run) for group in groups for run in group.runs}
    return [level for level in by_seed.values() if not np.isnan(level)]


def _legend(group: Group) -> str:
    words = (counted(len(group.runs), "seed"), interval_word(len(group.runs)))
    return f"{group.label} ({', '.join(word for word in words if word)})"


def _by_epoch(group: Group) -> Series:
    curves = [learning_curve(run) for run in group.runs]
    points = [(curve.epochs, curve.rewards) for curve in curves]
    return _series(_legend(group), points)


def _by_bytes(group: Group) -> Series:
    """By the mean of what the runs had sent at the same test: they differ where it is drawn."""
    curves = [learning_curve(run) for run in group.runs]
    places = _table([(curve.epochs, curve.bytes_sent) for curve in curves])[1]
    megabytes = mean_of_runs(places) / MEGABYTE
    return _by_epoch(group)._replace(x=np.where(megabytes > 0, megabytes, np.nan))


def _norm_series(group: Group, bounds: Sequence[BoundCurve]) -> list[Series]:
    found = [curve for run in group.runs if (curve := norms_of(run))]
    norms = [(curve.updates, curve.norms) for curve in found]
    means = [(curve.updates, curve.means) for curve in found]
    limits = [(bound.updates, bound.values) for bound in bounds]
    series = [_series(NORM, norms), _series(f"running mean of {NORM}", means)]
    return [*series, _series("corrected bound on the mean", limits)] if limits else series


def _series(label: str, points: Sequence[Points]) -> Series:
    x, table = _table(points)
    return Series(label, x, table, *seed_band(table))


def _table(
    points: Sequence[Points],
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, "run point"]]:
    """Curves in rows over the places of all; not a number where one has none."""
    places = np.unique(np.concatenate([where for where, _ in points]))
    table = np.full((len(points), len(places)), np.nan)
    for row, (where, heights) in zip(table, points, strict=True):
        row[np.searchsorted(places, where)] = heights
    return places.astype(float), table
