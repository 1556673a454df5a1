"""Figures: data in, a matplotlib Figure out. Nothing here computes what it draws."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmarl.errors import BadInput, require
from fmarl.report.mpl_style import PAPER, TWO_COLUMNS, UNSIGNED

STYLES: dict[str, dict[str, Any]] = {
    "printed": {"color": "#c2410c", "linestyle": "--"},
    "simple": {"color": "#93c5fd", "linestyle": "-"},
    "sharp": {"color": "#1d4ed8", "linestyle": "-"},
    "measured": {"color": "#171717", "linestyle": "-"},
    "weighted": {"color": "#171717", "linestyle": ":"},
}
"""One look per kind of curve, in every figure: printed is dashed, corrected is blue."""

GRAPHS_PER_ROW = 4
SMALL = TWO_COLUMNS / GRAPHS_PER_ROW
"""Inches of a graph among several."""

FORMATS = tuple(f".{word}" for word in UNSIGNED)


class Curve(NamedTuple):
    """A line to draw."""

    label: str
    values: Any
    """One number per point."""
    kind: str
    """A key of STYLES."""


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the ending of the name decides the format."""
    require(
        path.suffix in FORMATS,
        f"plot file {path}",
        f"a name that ends in {', '.join(FORMATS)}",
        "Rename it.",
    )
    try:
        with rc_context({"svg.hashsalt": "fmarl"}):  # the same figure gives the same bytes
            unsigned = UNSIGNED[path.suffix[1:]]
            figure.savefig(path, dpi=150, bbox_inches="tight", pad_inches=0.15, metadata=unsigned)
    except OSError as error:
        raise BadInput(f"{path} can not be written: {error.strerror}. Check the folder.") from None


def draw_sweep(
    values: Sequence[float | int],
    curves: Sequence[Curve],
    *,
    title: str,
    label: str,
    here: float | int,
    infeasible_from: float,
    admissible: Sequence[bool],
) -> Figure:
    """Bounds against one number of a setting; faint where the learning rate is not admissible."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    held = np.array(admissible)
    for curve in curves:
        heights = np.array(curve.values)
        axes.plot(values, heights, alpha=0.25, **STYLES[curve.kind])
        axes.plot(values, np.where(held, heights, np.nan), label=curve.label, **STYLES[curve.kind])
    axes.axvline(here, color="#a3a3a3", linewidth=0.8)
    if infeasible_from > 0:
        axes.axhline(infeasible_from, color="#a3a3a3", linestyle=":", label="ψ2: infeasible above")
    _finish(axes, title=title, x=label, y="squared gradient norm")
    return figure


def draw_measured(
    panels: Sequence[tuple[str, Sequence[Curve]]], *, updates: Sequence[int]
) -> Figure:
    """One panel per method: measured average and the bounds, against the length of the run."""
    figure = Figure(figsize=(4.1 * len(panels), 3.8), layout="constrained")
    for axes, (title, curves) in zip(
        np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True
    ):
        for curve in curves:
            axes.plot(updates, np.asarray(curve.values), label=curve.label, **STYLES[curve.kind])
        axes.set_xscale("log")
        axes.set_yscale("log")
        _finish(axes, title=title, x="updates K", y="average squared gradient norm")
    return figure


def draw_graph(
    edges: Sequence[tuple[int, int]], num_agents: int, *, title: str, subtitle: str = ""
) -> Figure:
    """Agents on a circle and the links between them."""
    figure = Figure(figsize=(5, 5.2), layout="constrained")
    axes = figure.add_subplot()
    _draw_links(axes, edges, num_agents, scale=1.0)
    axes.set_title(title, loc="left")
    axes.text(0.5, -0.02, subtitle, transform=axes.transAxes, ha="center", va="top", fontsize=9)
    return figure


def draw_graphs(graphs: Sequence[tuple[str, Sequence[tuple[int, int]], int]]) -> Figure:
    """Small graphs side by side: each has a title, its links and its number of agents."""
    columns = min(len(graphs), GRAPHS_PER_ROW)
    rows = -(-len(graphs) // columns)
    with style.context(PAPER):
        figure = Figure(figsize=(columns * SMALL, rows * (SMALL + 0.2)), layout="constrained")
        for place, (title, edges, num_agents) in enumerate(graphs, start=1):
            axes = figure.add_subplot(rows, columns, place)
            _draw_links(axes, edges, num_agents, scale=0.4)
            axes.set_title(fill(title, width=26), loc="center")
    return figure


def _draw_links(
    axes: Axes, edges: Sequence[tuple[int, int]], num_agents: int, *, scale: float
) -> None:
    angle = np.pi / 2 - 2 * np.pi * np.arange(num_agents) / num_agents
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    for i, j in edges:
        axes.plot(*places[[i, j]].T, color="#94a3b8", linewidth=1.6 * scale**0.5, zorder=1)
    size = np.clip(9000 / num_agents**1.5, 30, 520) * scale**1.5
    axes.scatter(*places.T, s=size, color="#1d4ed8", zorder=2)
    if num_agents <= 40 * scale:
        for agent, (x, y) in enumerate(places):
            axes.text(
                x, y, str(agent), color="white", ha="center", va="center",
                fontsize=9 * scale**0.35, zorder=3,
            )  # fmt: skip
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.axis("off")


def _finish(axes: Axes, *, title: str, x: str, y: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(edgecolor="none", framealpha=0.9, fontsize=8)
