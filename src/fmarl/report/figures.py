"""Figures: data in, a matplotlib Figure out. Nothing here computes what it draws."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float32
from matplotlib import rc_context, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmarl.errors import BadInput, require
from fmarl.report.mpl_style import PAPER, TWO_COLUMNS, UNSIGNED
from fmarl.worlds.world import World

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

LaneLine = Float[np.ndarray, "_ 2"]


class PlotCurve(NamedTuple):
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
    curves: Sequence[PlotCurve],
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
    panels: Sequence[tuple[str, Sequence[PlotCurve]]], *, updates: Sequence[int]
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


def road_lines(world: World) -> list[LaneLine] | None:
    """Centre lines of a world's lanes; None for a world without a road."""
    from fmarl.worlds.sumo.roads.network import compiled_network, lane_shapes

    road = getattr(getattr(world, "options", None), "road", None)
    return None if road is None else list(lane_shapes(compiled_network(road())).values())


def draw_road(
    lines: Iterable[LaneLine], frame: Float32[np.ndarray, "_ 3"], num_learners: int, *, title: str
) -> Figure:
    """The road with its vehicles: learners have a ring around them."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for line in lines:
        axes.plot(*line.T, color="#cbd5e1", linewidth=5, solid_capstyle="round", zorder=1)
    x, y, speed = frame.T
    learners = np.arange(len(frame)) < num_learners
    for mask, edge in ((~learners, "none"), (learners, "#171717")):
        dots = axes.scatter(
            x[mask], y[mask], c=speed[mask], s=60, cmap="viridis", edgecolors=edge, linewidths=1.6,
            vmin=0, vmax=float(np.nanmax(speed)) or 1.0, zorder=2,
        )  # fmt: skip
        if edge == "none":
            figure.colorbar(dots, ax=axes, label="speed in m/s", shrink=0.7)
    axes.set_title(f"{title} (ringed)", loc="left")
    axes.set_aspect("equal")
    axes.axis("off")
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
