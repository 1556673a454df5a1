"""Curves of many runs and effects of claims, at the size and in the type of a printed paper.

Data in, a matplotlib Figure out. The mean of the runs is taken here, because it is drawn among
them; every interval comes from the caller.
"""

from collections.abc import Iterable, Sequence
from io import BytesIO
from itertools import cycle, islice
from math import floor, log10
from textwrap import fill
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fmarl.report.statistics import Interval

ONE_COLUMN, TWO_COLUMNS = 3.5, 7.16
"""Widths of a figure in the paper's journal, in inches."""

FONT_POINTS = 8
PAPER: list[Any] = [
    "default",  # the same figure on every machine, whatever its matplotlibrc says
    {
        "font.size": FONT_POINTS,
        "axes.titlesize": "medium",
        "legend.fontsize": "medium",
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "pdf.fonttype": 42,  # journals refuse the default, Type 3
        "svg.hashsalt": "fmarl",
    },
]

# Okabe and Ito's colours; black is last. Lengths 7 and 4 share no factor: 28 different looks.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", (0, (4, 1.2)), (0, (5, 1.2, 1, 1.2)), (0, (1, 1)))
GREY = "#525252"
MARKS_PER_CURVE = 7

VerdictWord = Literal["supported", "not supported", "undecided"]
"""What can be said about a claim of the paper."""


class VerdictLook(NamedTuple):
    """How a verdict shows: never by colour alone."""

    sign: str
    colour: str
    marker: str
    is_filled: bool


VERDICTS: dict[VerdictWord, VerdictLook] = {
    "supported": VerdictLook("✓", "#00704F", "o", is_filled=True),
    "not supported": VerdictLook("✗", "#B83B00", "X", is_filled=True),
    "undecided": VerdictLook("?", GREY, "D", is_filled=False),
}

FileFormat = Literal["png", "svg", "pdf"]
UNSIGNED: dict[FileFormat, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""What matplotlib would write into a file about itself and the time of day: left out."""

Range = tuple[float, float]


class Series(NamedTuple):
    """One method: all its runs, and the band around their mean."""

    label: str
    x: Float[np.ndarray, " point"]
    runs: Float[np.ndarray, "run point"]
    """One row per seed; not a number where a run has no value."""
    low: Float[np.ndarray, " point"]
    """Lower end of the interval of the mean; not a number where there is none to draw."""
    high: Float[np.ndarray, " point"]


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    series: Sequence[Series]
    x_label: str
    y_label: str
    baseline: Interval | None = None
    baseline_label: str = ""
    y_scale: Literal["linear", "log"] = "linear"
    x_range: Range | None = None
    y_range: Range | None = None


class Effect(NamedTuple):
    """One comparison: how large the difference is, and what that says about a claim."""

    label: str
    interval: Interval
    verdict: VerdictWord


def draw_panels(panels: Sequence[Panel], columns: int) -> Figure:
    """Panels in rows of so many, one legend above all: a label looks the same in each of them."""
    labels = dict.fromkeys(series.label for panel in panels for series in panel.series)
    looks = dict(zip(labels, _looks(len(labels)), strict=True))
    rows = -(-len(panels) // columns)
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS
    with style.context(PAPER):
        size = (width, rows * max(2.1, 0.66 * width / columns))
        figure = Figure(figsize=size, layout="constrained")
        for place, panel in enumerate(panels, start=1):
            _draw_panel(figure.add_subplot(rows, columns, place), panel, looks)
        _put_legend_above(figure, _curve_handles(figure.axes), handle_length=2.4)
    return figure


def draw_forest(effects: Sequence[Effect], x_label: str) -> Figure:
    """Effects below each other with their intervals, against a line at zero."""
    labels = [fill(effect.label, width=44) for effect in effects]
    written = _written([effect.interval for effect in effects])
    heights = np.array([0.16 + 0.14 * (1 + label.count("\n")) for label in labels])
    middles = np.cumsum(heights) - heights / 2
    with style.context(PAPER):
        figure = Figure(figsize=(TWO_COLUMNS, heights.sum() + 0.45), layout="constrained")
        axes = figure.add_subplot()
        axes.axvline(0, color="black", linewidth=0.6, zorder=1)
        for height, effect, numbers in zip(middles.tolist(), effects, written, strict=True):
            _draw_effect(axes, height, effect)
            axes.text(1.02, height, numbers, transform=axes.get_yaxis_transform(), va="center")
        axes.set_yticks(middles, labels)
        axes.set_ylim(heights.sum(), 0)  # the first effect is on top
        axes.tick_params(axis="y", length=0)
        axes.locator_params(axis="x", nbins=6)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xlabel(x_label)
        _put_legend_above(figure, _verdict_handles(effects), handle_length=1.0)
    return figure


def figure_bytes(figure: Figure, file_format: FileFormat) -> bytes:
    """A file of the figure at its own size; the same figure gives the same bytes."""
    file = BytesIO()
    with style.context(PAPER):
        _settle(figure)
        figure.savefig(file, format=file_format, dpi=300, metadata=UNSIGNED[file_format])
    return file.getvalue()


def _settle(figure: Figure) -> None:
    """Lay the figure out once and for all: each layout starts from the last, and would differ."""
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def _looks(count: int) -> list[dict[str, Any]]:
    cycles = zip(cycle(COLOURS), cycle(DASHES), cycle(MARKERS), strict=True)
    return [
        {"color": colour, "linestyle": dash, "marker": marker}
        for colour, dash, marker in islice(cycles, count)
    ]


def _draw_panel(axes: Axes, panel: Panel, looks: dict[str, dict[str, Any]]) -> None:
    axes.set_yscale(panel.y_scale)
    for order, series in enumerate(panel.series):
        _draw_series(axes, series, looks[series.label], first_mark=order)
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


def _draw_baseline(axes: Axes, baseline: Interval, label: str) -> None:
    axes.axhline(
        baseline.value, label=label, zorder=1.5, color=GREY, linestyle=(0, (8, 4)), linewidth=0.9
    )
    if np.isfinite([baseline.low, baseline.high]).all():
        axes.axhspan(baseline.low, baseline.high, color=GREY, alpha=0.12, linewidth=0)


def _draw_series(axes: Axes, series: Series, look: dict[str, Any], first_mark: int) -> None:
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


def _draw_effect(axes: Axes, height: float, effect: Effect) -> None:
    look, (value, low, high) = VERDICTS[effect.verdict], effect.interval
    axes.plot([low, high], [height, height], color=look.colour, linewidth=1.4, zorder=2)
    axes.plot([value], [height], zorder=3, **_mark(look))


def _mark(look: VerdictLook) -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": look.marker,
        "markersize": 6,
        "markerfacecolor": look.colour if look.is_filled else "white",
        "markeredgecolor": look.colour,
    }


def _written(intervals: Sequence[Interval]) -> list[str]:
    """Values and intervals as text; as many decimals as tell things apart on a common axis."""
    numbers = np.array(intervals)
    largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0)
    decimals = max(0, 1 - floor(log10(largest))) if largest else 0
    texts = [[f"{number:.{decimals}f}".replace("-", "−") for number in row] for row in numbers]
    return [
        f"{value} [{low}, {high}]" if np.isfinite(row).all() else value
        for row, (value, low, high) in zip(numbers, texts, strict=True)
    ]


def _verdict_handles(effects: Sequence[Effect]) -> list[Line2D]:
    """One for each verdict that occurs, in the order of VERDICTS."""
    given = {effect.verdict for effect in effects}
    looks = [(word, look) for word, look in VERDICTS.items() if word in given]
    return [Line2D([], [], label=word, **_mark(look)) for word, look in looks]


def _curve_handles(all_axes: Iterable[Axes]) -> list[Artist]:
    """One for each label, in the order in which they were drawn."""
    handles = [handle for axes in all_axes for handle in axes.get_legend_handles_labels()[0]]
    return list({handle.get_label(): handle for handle in handles}.values())


def _put_legend_above(figure: Figure, handles: Sequence[Artist], handle_length: float) -> None:
    """A legend outside of all axes, where it hides nothing; the figure grows by its height."""
    if not handles:
        return
    longest = max(len(str(handle.get_label())) for handle in handles)
    entry_points = FONT_POINTS * (handle_length + 2.5 + 0.57 * longest)  # with the gaps around
    fitting = int(72 * figure.get_figwidth() / entry_points)
    columns = max(1, min(fitting, len(handles)))
    lines = -(-len(handles) // columns)
    figure.set_figheight(figure.get_figheight() + 0.17 * lines)
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        handlelength=handle_length,
        columnspacing=1.2,
    )
