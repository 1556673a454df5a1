"""The two roads as data: nodes, edges and who may go where. Knows nothing about SUMO's files.

Geometry and right of way are those of Flow's benchmarks, from which the paper took its scenarios:
a figure eight of two rings that cross, and a highway with an on-ramp.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fmarl.errors import require_positive

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Node:
    """A place where edges meet."""

    name: str
    place: Point
    radius: float | None = None
    """Size of the junction, in metres; None leaves it to netconvert."""
    is_priority: bool = False
    """Whether right of way follows the edges' priorities."""


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A one-way, one-lane piece of road."""

    name: str
    start: str
    end: str
    length: float
    priority: int | None = None
    shape: tuple[Point, ...] = ()
    """Points it runs through; empty for a straight line."""


@dataclass(frozen=True, kw_only=True)
class Road:
    """Everything that decides a compiled network."""

    name: str
    speed_limit: float
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    connections: tuple[tuple[str, str], ...] = ()
    """Which edge leads into which; empty means whatever geometry allows."""
    limit_turn_speed: bool = True
    """Whether sharp turns have a lower limit (netconvert's default since SUMO 1.4)."""


def figure_eight_road(
    *, radius: float = 30.0, speed_limit: float = 20.0, shape_points: int = 40
) -> Road:
    """Two three-quarter rings joined by a crossing: bottom → top has priority over right → left.

    >>> road = figure_eight_road()
    >>> round(sum(edge.length for edge in road.edges), 2)
    402.74
    """
    require_positive(radius=radius, speed_limit=speed_limit)
    r, arc = radius, 1.5 * math.pi * radius
    upper = _arc(lambda t: (r * (1 - math.cos(t)), r * (1 + math.sin(t))), 0.0, 1.5, shape_points)
    lower = _arc(lambda t: (-r + r * math.cos(t), -r + r * math.sin(t)), 0.5, 2.0, shape_points)
    places = {"center": (0.0, 0.0), "right": (r, 0.0), "top": (0.0, r)}
    places |= {"left": (-r, 0.0), "bottom": (0.0, -r)}
    crossing_radius = (2.9 + 3.3) / 2  # Flow's rule for one lane
    return Road(
        name="figure-eight",
        speed_limit=speed_limit,
        nodes=tuple(
            Node(
                name=name,
                place=place,
                is_priority=True,
                radius=crossing_radius if name == "center" else None,
            )
            for name, place in places.items()
        ),
        edges=(
            Edge(name="bottom", start="bottom", end="center", length=r, priority=78),
            Edge(name="top", start="center", end="top", length=r, priority=78),
            Edge(name="right", start="right", end="center", length=r, priority=46),
            Edge(name="left", start="center", end="left", length=r, priority=46),
            Edge(name="upper_ring", start="top", end="right", length=arc, shape=upper),
            Edge(name="lower_ring", start="left", end="bottom", length=arc, shape=lower),
        ),
        connections=(("bottom", "top"), ("right", "left")),
    )


def merge_road(
    *,
    before: float = 500.0,
    after: float = 100.0,
    ramp: float = 100.0,
    inflow: float = 100.0,
    speed_limit: float = 20.0,
    limit_turn_speed: bool = True,
) -> Road:
    """A highway of one lane with an on-ramp.

    Nobody has priority by sign, so the ramp goes first, for it comes from the right. That is what
    makes the stop-and-go waves.
    """
    require_positive(before=before, after=after, ramp=ramp, inflow=inflow, speed_limit=speed_limit)
    slope = math.sqrt(0.5)
    outer = (before - (ramp + inflow) * slope, -(ramp + inflow) * slope)
    inner = (before - ramp * slope, -ramp * slope)
    return Road(
        name="merge",
        speed_limit=speed_limit,
        nodes=(
            Node(name="inflow_highway", place=(-inflow, 0.0)),
            Node(name="left", place=(0.0, 0.0)),
            Node(name="center", place=(before, 0.0), radius=10.0),
            Node(name="right", place=(before + after, 0.0)),
            Node(name="inflow_merge", place=outer),
            Node(name="bottom", place=inner),
        ),
        edges=(
            Edge(name="inflow_highway", start="inflow_highway", end="left", length=inflow),
            Edge(name="left", start="left", end="center", length=before),
            Edge(name="inflow_merge", start="inflow_merge", end="bottom", length=inflow),
            Edge(name="bottom", start="bottom", end="center", length=ramp),
            Edge(name="center", start="center", end="right", length=after),
        ),
        limit_turn_speed=limit_turn_speed,
    )


def _arc(
    point: Callable[[float], Point], start: float, end: float, count: int
) -> tuple[Point, ...]:
    """Points of a curve between two angles, given in units of π."""
    return tuple(point(float(angle)) for angle in np.linspace(start, end, count) * math.pi)
