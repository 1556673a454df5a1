"""Recipes for graphs: the usual shapes, random ones, and those of the paper's experiments."""

import math
from collections.abc import Callable

import numpy as np

from fmarl.errors import BadInput, require
from fmarl.topology.graph import Graph, from_adjacency, from_edges, from_networkx

MAX_TRIES = 200


def path(num_agents: int) -> Graph:
    """Each agent linked to the next, as cars in one lane.

    Paper: Section VII: the Merge graph is path(5), μ_2 = 0.3820.

    >>> path(4).edges
    ((0, 1), (1, 2), (2, 3))
    """
    return from_edges(num_agents, [(i, i + 1) for i in range(num_agents - 1)])


def ring(num_agents: int) -> Graph:
    """Return a path whose ends are linked.

    >>> ring(3).edges
    ((0, 1), (0, 2), (1, 2))
    """
    return nearest(num_agents, 2)


def star(num_agents: int) -> Graph:
    """Every agent linked to agent 0 only.

    >>> star(4).degrees.tolist()
    [3, 1, 1, 1]
    """
    return from_edges(num_agents, [(0, i) for i in range(1, num_agents)])


def complete(num_agents: int) -> Graph:
    """Every agent linked to every other.

    >>> complete(4).num_edges
    6
    """
    return circulant(num_agents, tuple(range(1, num_agents // 2 + 1)))


def nearest(num_agents: int, neighbours: int) -> Graph:
    """Each agent on a ring linked to its nearest `neighbours`, half of them on each side.

    >>> nearest(6, 4).degrees.tolist()
    [4, 4, 4, 4, 4, 4]
    """
    require(
        2 <= neighbours < num_agents and neighbours % 2 == 0,
        f"{neighbours} nearest neighbours among {num_agents} agents",
        "an even number, at least 2 and below the number of agents",
        "A ring (2 neighbours) needs 3 agents, nearest:4 needs 5.",
    )
    return circulant(num_agents, tuple(range(1, neighbours // 2 + 1)))


def circulant(num_agents: int, offsets: tuple[int, ...]) -> Graph:
    """Agents on a ring, each linked to those `offsets` places away, 1 <= offset <= m/2.

    >>> circulant(6, (3,)).edges
    ((0, 3), (1, 4), (2, 5))
    """
    require(
        all(1 <= offset <= num_agents // 2 for offset in offsets),
        f"offsets {offsets}",
        f"1 <= offset <= {num_agents // 2}, half the ring",
        "Count the shorter way round.",
    )
    around = [(i, (i + step) % num_agents) for i in range(num_agents) for step in offsets]
    return from_edges(num_agents, {(min(pair), max(pair)) for pair in around})


def random_regular(num_agents: int, degree: int, seed: int) -> Graph:
    """Return a random connected graph in which every agent has `degree` neighbours.

    >>> random_regular(8, 3, seed=0).degrees.tolist()
    [3, 3, 3, 3, 3, 3, 3, 3]
    """
    import networkx

    require(
        1 <= degree < num_agents and num_agents * degree % 2 == 0,
        f"degree {degree} with {num_agents} agents",
        "1 <= degree < num_agents, and degree x num_agents even",
        "Change the degree by one.",
    )

    def draw(rng: np.random.Generator) -> Graph:
        draw_seed = int(rng.integers(2**31))
        return from_networkx(networkx.random_regular_graph(degree, num_agents, draw_seed))

    return _first_connected(draw, seed, f"random regular graph of degree {degree}", "degree")


def random_geometric(num_agents: int, radius: float, seed: int) -> Graph:
    """Agents thrown on the unit square, linked when at most `radius` apart; connected.

    >>> random_geometric(5, 0.7, seed=1).is_connected
    True
    """
    require(
        math.isfinite(radius) and radius > 0,
        f"radius {radius}",
        "a finite number above 0 (the square has side 1)",
        "Use a radius such as 0.5.",
    )

    def draw(rng: np.random.Generator) -> Graph:
        places = rng.random((num_agents, 2))
        distances = np.linalg.norm(places[:, None] - places[None], axis=-1)
        return from_adjacency((distances <= radius) & ~np.eye(num_agents, dtype=bool))

    return _first_connected(draw, seed, f"random geometric graph of radius {radius}", "radius")


def paper_13() -> Graph:
    """Return the Figure-Eight graph with 13 edges: 78,000 exchanges in 3,000 updates.

    Paper: Section VII: μ_2 = 1.4384.  Of 95 connected graphs with 7 agents and 13 edges two
    have it; this one (atlas 1081) is closer to the text's "3~4" connections.

    >>> paper_13().degrees.tolist()
    [3, 4, 3, 6, 3, 4, 3]
    """
    return _from_digits("03 05 06 12 13 14 15 23 24 34 35 36 56")


def paper_13_other() -> Graph:
    """Return the second graph that fits what the paper says of its 13-edge graph (atlas 1047).

    Paper: Section VII: μ_2 = 1.4384.
    """
    return _from_digits("01 02 03 04 05 06 12 13 14 23 24 35 56")


def paper_16() -> Graph:
    """Return the Figure-Eight graph with 16 edges (atlas 1221), the only one with its μ_2.

    Paper: Section VII: μ_2 = 2.5188.
    """
    return _from_digits("01 03 05 06 13 15 16 24 25 26 34 35 36 45 46 56")


def _from_digits(edges: str) -> Graph:
    return from_edges(7, [(int(edge[0]), int(edge[1])) for edge in edges.split()])


def _first_connected(
    draw: Callable[[np.random.Generator], Graph], seed: int, kind: str, knob: str
) -> Graph:
    """Draw again, from seeds derived from `seed`, until the graph is connected."""
    require(seed >= 0, f"seed = {seed}", "seed >= 0", "Use a seed such as 0.")
    for attempt in range(MAX_TRIES):
        graph = draw(np.random.default_rng([seed, attempt]))
        if graph.is_connected:
            return graph
    fix = f"Raise the {knob}."
    raise BadInput(f"a {kind}: none of {MAX_TRIES} draws for seed {seed} is connected. {fix}")
