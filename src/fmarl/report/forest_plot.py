"""Effects with their intervals below each other, and what they say about claims."""

from collections.abc import Sequence
from math import floor, log10
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fmarl.report.mpl_style import GREY, PAPER, TWO_COLUMNS, put_legend_above
from fmarl.report.page import VerdictWord
from fmarl.report.statistics import Interval

VERDICTS: dict[VerdictWord, dict[str, Any]] = {
    "supported": {"marker": "o", "markerfacecolor": "#00704F", "markeredgecolor": "#00704F"},
    "not supported": {"marker": "X", "markerfacecolor": "#B83B00", "markeredgecolor": "#B83B00"},
    "undecided": {"marker": "D", "markerfacecolor": "white", "markeredgecolor": GREY},
}
"""How a verdict shows: never by colour alone."""
MARK: dict[str, Any] = {"linestyle": "none", "markersize": 6}


class Effect(NamedTuple):
    """One comparison: how large the difference is, and what that says about a claim."""

    label: str
    interval: Interval
    verdict: VerdictWord


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
        put_legend_above(figure, _verdict_handles(effects), handle_length=1.0)
    return figure


def _draw_effect(axes: Axes, height: float, effect: Effect) -> None:
    look, (value, low, high) = VERDICTS[effect.verdict], effect.interval
    colour = look["markeredgecolor"]
    axes.plot([low, high], [height, height], color=colour, linewidth=1.4, zorder=2)
    axes.plot([value], [height], zorder=3, **MARK, **look)


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
    return [Line2D([], [], label=word, **MARK, **look) for word, look in looks]
