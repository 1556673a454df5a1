"""Pictures of roads: lanes to scale, learners and the others, coloured by speed."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Float32
from matplotlib.figure import Figure

from fmarl.report.figures import save_figure
from fmarl.worlds.sumo.figure_eight import FigureEightWorld
from fmarl.worlds.sumo.merge import MergeWorld
from fmarl.worlds.sumo.roads import compiled_network, lane_shapes
from fmarl.worlds.world import World

__all__ = ["draw_road", "road_lines", "save_figure"]

Line = Float[np.ndarray, "_ 2"]


def road_lines(world: World) -> list[Line] | None:
    """Centre lines of a world's lanes; None for a world without a road."""
    if not isinstance(world, FigureEightWorld | MergeWorld):
        return None
    return list(lane_shapes(compiled_network(world.options.road())).values())


def draw_road(
    lines: Iterable[Line], frame: Float32[np.ndarray, "_ 3"], num_learners: int, *, title: str
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
