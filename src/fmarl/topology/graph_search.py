"""The graph that agrees fastest for a given number of links: exhaustive if small, else searched.

Best means the smallest ρ* = (μ_m - μ_2) / (μ_m + μ_2), what one round at the best constant step
leaves of the disagreement. More edges are not always better: of 7 agents, 9 edges beat 10.
"""

from collections.abc import Iterator
from functools import cache
from itertools import combinations, islice

import numpy as np
from jaxtyping import Float

from fmarl.errors import require
from fmarl.topology.families import circulant, star
from fmarl.topology.graph import (
    Graph,
    from_adjacency,
    from_edges,
    from_networkx,
    require_num_agents,
)

ATLAS_AGENTS = 7
MAX_AGENTS = 50
DIGITS = 9  # ρ* is compared to nine digits, so that rounding does not decide ties
BATCH = 64
PATIENCE = 4
SHAKES = 2
EXAMINED = 80_000  # graphs a search looks at with up to 12 agents (1 s); fewer with more

Stack = Float[np.ndarray, "graph agent agent"]
Adjacency = Float[np.ndarray, "agent agent"]


def best_graph(num_agents: int, max_edges: int, seed: int = 0) -> Graph:
    """Find the connected graph with at most `max_edges` edges that agrees fastest.

    Exact up to 7 agents (ties: fewer edges, then the lower atlas number). Above that a local
    search, the same for the same seed: good, not proven best. Up to 50 agents.

    >>> best_graph(7, 10).num_edges
    9
    """
    _check_edges(num_agents, max_edges, "max_edges")
    return _best_between(num_agents, num_agents - 1, max_edges, seed)


def best_graph_with(num_agents: int, num_edges: int, seed: int = 0) -> Graph:
    """As `best_graph`, with exactly `num_edges` edges.

    >>> best_graph_with(7, 10).num_edges
    10
    """
    _check_edges(num_agents, num_edges, "num_edges")
    return _best_between(num_agents, num_edges, num_edges, seed)


@cache
def connected_graphs(num_agents: int) -> tuple[Graph, ...]:
    """All connected graphs with up to 7 agents, one of each shape, in the atlas's order.

    >>> len(connected_graphs(4))
    6
    """
    from networkx.generators.atlas import graph_atlas_g

    require_num_agents(num_agents, ATLAS_AGENTS, "Larger graphs are too many to list.")
    listed = (graph for graph in graph_atlas_g() if len(graph) == num_agents)
    return tuple(graph for graph in map(from_networkx, listed) if graph.is_connected)


def search_graph(num_agents: int, min_edges: int, max_edges: int, seed: int) -> Graph:
    """Best graph that a bounded local search finds: climb from good shapes, shake, repeat.

    >>> search_graph(8, 12, 12, seed=0).is_connected
    True
    """
    require(seed >= 0, f"seed = {seed}", "seed >= 0", "Use a seed such as 0.")
    rng = np.random.default_rng(seed)
    starts = _starts(num_agents, min_edges, max_edges, rng)
    best, evaluated = starts[0], 0
    while evaluated < EXAMINED * min(1.0, (12 / num_agents) ** 2):
        start = starts.pop(0) if starts else _shaken(best, rng)
        found, looked_at = _climb(start, min_edges, max_edges, rng)
        best, evaluated = min(best, found, key=_merit), evaluated + looked_at
    return from_adjacency(best)


def _best_between(num_agents: int, min_edges: int, max_edges: int, seed: int) -> Graph:
    if num_agents > ATLAS_AGENTS:
        return search_graph(num_agents, min_edges, max_edges, seed)
    graphs = connected_graphs(num_agents)
    allowed = [graph for graph in graphs if min_edges <= graph.num_edges <= max_edges]
    merits = _merits(np.stack([graph.adjacency for graph in allowed]))
    return allowed[min(range(len(allowed)), key=merits.__getitem__)]


def _merits(stack: Stack) -> list[tuple[float, int]]:
    """ρ* and the number of edges, of each graph: the smaller pair is the better graph."""
    laplacians = np.eye(stack.shape[1]) * stack.sum(axis=2)[:, :, None] - stack
    eigenvalues = np.linalg.eigvalsh(laplacians)
    slowest, fastest = eigenvalues[:, :2][:, -1], eigenvalues[:, -1]
    left = (fastest - slowest) / np.maximum(fastest + slowest, 1e-300)  # one agent: 0 / 0
    edges = stack.sum(axis=(1, 2)) / 2
    return list(zip(left.round(DIGITS).tolist(), edges.astype(int).tolist(), strict=True))


def _merit(adjacency: Adjacency) -> tuple[float, int]:
    return _merits(adjacency[None])[0]


def _climb(
    adjacency: Adjacency, min_edges: int, max_edges: int, rng: np.random.Generator
) -> tuple[Adjacency, int]:
    """Take the best of a batch of random changes, until a few batches in a row bring nothing.

    A disconnected graph has ρ* = 1 and so is never better than a connected start.
    """
    merit, batches, idle = _merit(adjacency), 0, 0
    while idle < PATIENCE:
        stack = _changes(adjacency, min_edges, max_edges, BATCH, rng)
        merits = _merits(stack)
        winner = min(range(BATCH), key=merits.__getitem__)
        batches, idle = batches + 1, idle + 1
        if merits[winner] < merit:
            adjacency, merit, idle = stack[winner], merits[winner], 0
    return adjacency, batches * BATCH


def _changes(
    adjacency: Adjacency, min_edges: int, max_edges: int, count: int, rng: np.random.Generator
) -> Stack:
    """Return copies that each switch two edges, move one, or if allowed add or drop one."""
    linked = np.argwhere(np.triu(adjacency == 1, k=1))
    free = np.argwhere(np.triu(adjacency == 0, k=1))
    kind = rng.random(count)
    stack = np.repeat(adjacency[None], count, axis=0)
    _switch(stack, np.flatnonzero(kind >= 0.5), linked, rng)
    drop = (kind > 0.1) | (len(linked) >= max_edges)
    add = (kind < 0.4) | (len(linked) <= min_edges)
    _set_one(stack, np.flatnonzero((kind < 0.5) & drop), linked, 0.0, rng)
    _set_one(stack, np.flatnonzero((kind < 0.5) & add), free, 1.0, rng)
    return stack


def _switch(stack: Stack, which: np.ndarray, linked: np.ndarray, rng: np.random.Generator) -> None:
    """In each of these graphs turn edges a-b and c-d into a-c and b-d: all degrees stay.

    The best graphs are often regular, and moving one edge at a time leaves regular graphs.
    """
    first, second = linked[rng.integers(len(linked), size=(2, len(which)))]
    a, b, c, d = *first.T, *rng.permuted(second, axis=1).T
    distinct = (a != c) & (a != d) & (b != c) & (b != d)
    fits = distinct & (stack[which, a, c] == 0) & (stack[which, b, d] == 0)
    which, a, b, c, d = (array[fits] for array in (which, a, b, c, d))
    for i, j, value in ((a, b, 0.0), (c, d, 0.0), (a, c, 1.0), (b, d, 1.0)):
        stack[which, i, j] = stack[which, j, i] = value


def _set_one(
    stack: Stack, which: np.ndarray, pairs: np.ndarray, value: float, rng: np.random.Generator
) -> None:
    """In each of these graphs give one of the pairs, at random, the value."""
    if len(pairs):  # a complete graph has no pair left to link
        i, j = pairs[rng.integers(len(pairs), size=len(which))].T
        stack[which, i, j] = stack[which, j, i] = value


def _shaken(adjacency: Adjacency, rng: np.random.Generator) -> Adjacency:
    """Return the graph with a few edges moved, still connected."""
    num_edges = int(adjacency.sum()) // 2
    shaken = adjacency
    for _ in range(SHAKES):
        moved = _changes(shaken, num_edges, num_edges, 1, rng)[0]
        shaken = moved if _merit(moved)[0] < 1.0 else shaken
    return shaken


def _starts(
    num_agents: int, min_edges: int, max_edges: int, rng: np.random.Generator
) -> list[Adjacency]:
    """Graphs to climb from, best first: regular shapes within the limits, and random ones."""
    shapes = islice(_shapes(num_agents, max_edges), 500)
    fitting = [shape.adjacency for shape in shapes if min_edges <= shape.num_edges <= max_edges]
    random = [_random_connected(num_agents, max_edges, rng) for _ in range(4)]
    connected = [start for start in fitting if _merit(start)[0] < 1.0]
    return sorted(connected, key=_merit)[:4] + sorted(random, key=_merit)


def _shapes(num_agents: int, max_edges: int) -> Iterator[Graph]:
    """Star, complete multipartite graphs, and circulants: symmetric graphs mix well."""
    yield star(num_agents)
    for parts in range(2, num_agents + 1):
        part = np.arange(num_agents) % parts
        yield from_adjacency((part[:, None] != part[None]).astype(float))
    for count in range(1, max_edges // num_agents + 2):
        for offsets in combinations(range(1, num_agents // 2 + 1), count):
            yield circulant(num_agents, offsets)


def _random_connected(num_agents: int, num_edges: int, rng: np.random.Generator) -> Adjacency:
    """Return a random tree with random edges added."""
    tree = [(int(rng.integers(agent)), agent) for agent in range(1, num_agents)]
    adjacency = from_edges(num_agents, tree).adjacency
    free = np.argwhere(np.triu(adjacency == 0, k=1))
    i, j = rng.permutation(free)[: num_edges - len(tree)].T
    adjacency[i, j] = adjacency[j, i] = 1.0
    return adjacency


def _check_edges(num_agents: int, num_edges: int, name: str) -> None:
    require_num_agents(num_agents, MAX_AGENTS, "Use a ring or nearest:4 instead.")
    least, most = num_agents - 1, num_agents * (num_agents - 1) // 2
    require(
        least <= num_edges <= most,
        f"{name} = {num_edges}",
        f"{least} <= {name} <= {most} with {num_agents} agents",
        f"A connected graph needs {least} edges, a complete one has {most}.",
    )
