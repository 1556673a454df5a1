"""Curves of many runs at the size and in the type of a printed paper.

Data in, a matplotlib Figure out. The mean of the runs is taken here, because it is drawn among
them; every interval comes from the caller.
"""

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from fmarl.report.mpl_style import GREY, ONE_COLUMN, PAPER, TWO_COLUMNS, put_legend_above
from fmarl.report.statistics import Interval

# Okabe and Ito's colours; black is last. Lengths 7 and 4 share no factor: 28 different looks.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (4, 1.2)), (0, (5, 1.2, 1, 1.2)), (0, (1, 1)))
MARKS_PER_CURVE = 7
MOST_LOG_TICKS = 8

AxisRange = tuple[float, float]


class Series(NamedTuple):
    """One method: all its runs, and the band around their mean."""

    label: str
    x: Float[np.ndarray, " point"]
    runs: Float[np.ndarray, "run point"]
    """One row per seed; not a number where a run has no value."""
    low: Float[np.ndarray, " point"]
    """Lower end of the interval of the mean; not a number where there is none to draw."""
    high: Float[np.ndarray, " point"]
    is_joined: bool = True
    """Whether its points are one curve, or each stands for itself."""


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    series: Sequence[Series]
    x_label: str
    y_label: str
    baseline: Interval | None = None
    baseline_label: str = ""
    y_scale: Literal["linear", "log"] = "linear"
    x_range: AxisRange | None = None
    y_range: AxisRange | None = None
    x_scale: Literal["linear", "log"] = "linear"
    ticks: Literal["matplotlib", "plain"] = "matplotlib"
    """plain: whole numbers on a linear x axis, and no powers of ten on a logarithmic one."""


def draw_panels(panels: Sequence[Panel], columns: int) -> Figure:
    """Panels in rows of so many, one legend above all: a label looks the same in each of them."""
    labels = dict.fromkeys(series.label for panel in panels for series in panel.series)
    cycles = zip(labels, cycle(COLOURS), cycle(DASHES), cycle(MARKERS), strict=False)
    looks = {
        label: {"color": colour, "linestyle": dash, "marker": marker}
        for label, colour, dash, marker in cycles
    }
    rows = -(-len(panels) // columns)
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS
    with style.context(PAPER):
        size = (width, rows * max(2.1, 0.66 * width / columns))
        figure = Figure(figsize=size, layout="constrained")
        for place, panel in enumerate(panels, start=1):
            _draw_panel(figure.add_subplot(rows, columns, place), panel, looks)
        put_legend_above(figure, _curve_handles(figure.axes), handle_length=2.4)
    return figure


def _draw_panel(axes: Axes, panel: Panel, looks: dict[str, dict[str, Any]]) -> None:
    axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    if panel.ticks == "plain":
        _plain_ticks(axes)
    for order, series in enumerate(panel.series):
        if series.is_joined:
            _draw_curve(axes, series, looks[series.label], first_mark=order)
        else:
            _draw_points(axes, series, looks[series.label])
    if not panel.series:
        axes.text(0.5, 0.5, "no runs", transform=axes.transAxes, ha="center", va="center")
    if panel.baseline is not None:
        _draw_baseline(axes, panel.baseline, panel.baseline_label)
    axes.set_title(panel.title, loc="left")
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.5)
    axes.set_axisbelow(True)
    if panel.x_range is not None:
        axes.set_xlim(panel.x_range)
    if panel.y_range is not None:
        axes.set_ylim(panel.y_range)


def _plain_ticks(axes: Axes) -> None:
    if axes.get_xscale() == "linear":
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=MOST_LOG_TICKS))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.5g}"))
            axis.set_minor_formatter(NullFormatter())


def _draw_baseline(axes: Axes, baseline: Interval, label: str) -> None:
    axes.axhline(
        baseline.value, label=label, zorder=1.5, color=GREY, linestyle=(0, (8, 4)), linewidth=0.9
    )
    if np.isfinite([baseline.low, baseline.high]).all():
        axes.axhspan(baseline.low, baseline.high, color=GREY, alpha=0.12, linewidth=0)


def _draw_curve(axes: Axes, series: Series, look: dict[str, Any], first_mark: int) -> None:
    colour = look["color"]
    axes.plot(series.x, series.runs.T, color=colour, linewidth=0.5, alpha=0.3, zorder=2)
    if np.isfinite(series.low).any():
        axes.fill_between(
            series.x, series.low, series.high, color=colour, alpha=0.18, linewidth=0, zorder=2.2
        )
    mean = mean_of_runs(series.runs)
    axes.plot(
        series.x, mean, label=series.label, linewidth=1.5, zorder=2.5, **look,
        markersize=4, markeredgecolor="white", markeredgewidth=0.5,
        markevery=_marked_points(mean, first_mark),
    )  # fmt: skip


def _draw_points(axes: Axes, series: Series, look: dict[str, Any]) -> None:
    axes.vlines(series.x, series.low, series.high, color=look["color"], linewidth=0.9, zorder=2.2)
    axes.plot(
        series.x, mean_of_runs(series.runs), label=series.label, zorder=2.5,
        color=look["color"], marker=look["marker"], linestyle="none",
        markersize=4, markeredgecolor="white", markeredgewidth=0.5,
    )  # fmt: skip


def mean_of_runs(runs: Float[np.ndarray, "run point"]) -> Float[np.ndarray, " point"]:
    """The mean of the runs that have a value; an infinite one counts, and makes it infinite.

    >>> mean_of_runs(np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]]))
    array([ 2.,  5., nan])
    """
    there = ~np.isnan(runs)
    with np.errstate(invalid="ignore"):  # none there: 0 / 0
        return np.where(there, runs, 0).sum(axis=0) / there.sum(axis=0)


def _marked_points(mean: Float[np.ndarray, " point"], first: int) -> list[int]:
    """A few points with a value, each curve's a little further along, lest marks cover marks."""
    there = np.flatnonzero(np.isfinite(mean))
    stride = max(1, len(there) // MARKS_PER_CURVE)
    return there[first * stride // 4 % stride :: stride].tolist()


def _curve_handles(all_axes: Iterable[Axes]) -> list[Artist]:
    """One for each label, in the order in which they were drawn."""
    handles = [handle for axes in all_axes for handle in axes.get_legend_handles_labels()[0]]
    return list({handle.get_label(): handle for handle in handles}.values())
