"""A closed loop of edges and junctions: where a vehicle is, and the traffic to start with."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fmarl.worlds.sumo.roads.network import lane_lengths

if TYPE_CHECKING:
    from fmarl.worlds.sumo.figure_eight import FigureEight

ORDER = ("bottom", "top", "upper_ring", "right", "left", "lower_ring")
"""Edges of the figure eight in the order in which they are driven."""

JUNCTIONS = (":center_1", ":top_0", ":right_0", ":center_0", ":left_0", ":bottom_0")
"""What lies behind each of them."""

ROUNDING = 1e-6
"""Metres within which a place counts as the begin of an edge."""

LAPS = 200
"""How often a route goes round: more than any vehicle manages in an epoch."""


class Loop(NamedTuple):
    """The loop as a line of known length, cut into edges and junctions."""

    length: float
    edge_starts: Float[np.ndarray, " edge"]
    edge_lengths: Float[np.ndarray, " edge"]

    @classmethod
    def measure(cls, network: Path) -> "Loop":
        lanes = lane_lengths(network)
        edges = np.array([lanes[f"{name}_0"] for name in ORDER])
        both = edges + np.array([lanes[f"{name}_0"] for name in JUNCTIONS])
        return cls(float(both.sum()), np.concatenate([[0.0], np.cumsum(both)[:-1]]), edges)

    def edges_of(self, places: Float[np.ndarray, " vehicle"]) -> Int[np.ndarray, " vehicle"]:
        """Index of the edge that each place is on, or behind which it lies in a junction."""
        return np.searchsorted(self.edge_starts, places + ROUNDING, side="right") - 1

    def locate(self, place: float) -> tuple[int, float]:
        """Index of the edge and metres on it; beyond its end in a junction."""
        edge = int(self.edges_of(np.array([place]))[0])
        return edge, max(float(place - self.edge_starts[edge]), 0.0)

    def is_junction(self, places: Float[np.ndarray, " vehicle"]) -> Bool[np.ndarray, " vehicle"]:
        edges = self.edges_of(places)
        return places - self.edge_starts[edges] > self.edge_lengths[edges] + ROUNDING

    def on_edges(self, places: Float[np.ndarray, " vehicle"]) -> Float[np.ndarray, " vehicle"]:
        """The same places, but those in a junction moved to the start of the next edge."""
        wrapped = places % self.length
        following = np.append(self.edge_starts[1:], 0.0)[self.edges_of(wrapped)]
        return np.where(self.is_junction(wrapped), following, wrapped)


def flow_placement(loop: Loop, num_vehicles: int) -> Float[np.ndarray, " vehicle"]:
    """Flow's uniform starts: evenly spaced along edges, in its own reckoning of the junctions.

    Flow takes the crossing for 6.2 m and other joints for 0.28 m, which they are not; a start that
    falls into a junction moves to the next edge, and the following ones are counted from there.
    """
    believed = np.array([6.2, 0.28, 0.28, 6.2, 0.28, 0.28])
    starts = 0.28 + np.concatenate([[0.0], np.cumsum(loop.edge_lengths + believed)[:-1]])
    spacing = float(loop.edge_lengths.sum()) / num_vehicles
    places, at = [], 0.0
    for _ in range(num_vehicles):
        edge = int(np.searchsorted(starts, at, side="right")) - 1
        if edge < 0 or at - starts[edge] > loop.edge_lengths[edge]:
            edge = (edge + 1) % len(starts)
            at = float(starts[edge])
        places.append(loop.edge_starts[edge] + at - starts[edge])
        at += spacing
    return np.array(places)


def random_starts(
    loop: Loop, options: "FigureEight", random: np.random.Generator
) -> Float[np.ndarray, " vehicle"]:
    """Where vehicles start: Flow's places, each shifted at random."""
    even = flow_placement(loop, options.num_vehicles)
    shift = random.uniform(-1, 1, len(even)) * options.start_jitter
    return loop.on_edges(even + shift)


def loop_traffic(loop: Loop, places: Float[np.ndarray, " vehicle"], options: "FigureEight") -> str:
    """The route file: both types of vehicle, and each vehicle at its start."""
    learners = options.learning_vehicles()
    types = options.human_type.to_xml("human", options.speed_limit)
    types += options.learner_type.to_xml("learner", options.speed_limit)
    vehicles = [
        _vehicle(number, "learner" if number in learners else "human", *loop.locate(float(place)))
        for number, place in enumerate(places)
    ]
    repeat = "" if options.renews_routes else f' repeat="{LAPS}"'
    routes = [
        f'<route id="from_{edge}" edges="{" ".join(lap_from(edge))}"{repeat}/>' for edge in ORDER
    ]
    return f"<routes>{types}{''.join(routes)}{''.join(vehicles)}</routes>"


def lap_from(edge: str) -> tuple[str, ...]:
    """The edges of one lap that begins on this one."""
    turn = ORDER.index(edge)
    return ORDER[turn:] + ORDER[:turn]


def _vehicle(number: int, kind: str, edge: int, metres: float) -> str:
    return (
        f'<vehicle id="vehicle_{number}" type="{kind}" route="from_{ORDER[edge]}" depart="0" '
        f'departPos="{metres:.6f}" departSpeed="0" departLane="0"/>'
    )
