"""Who talks to whom: an undirected graph of agents, and the ways to make one from data.

This file knows nothing about weights, rounds or files; it checks edges and counts them.
"""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from fmarl.errors import BadInput, require

if TYPE_CHECKING:
    import networkx

# Everything downstream uses dense matrices: 1,000 agents are 8 MB each, 10,000 would be 800 MB.
MAX_AGENTS = 1_000


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Agents 0 … num_agents-1 and the pairs of them that exchange gradients, both ways.

    Paper: Section VI-B, A4: the network of agents is a connected undirected graph.
    Connectedness is asked for where weights are made (`require_connected`), not here.

    >>> Graph(num_agents=3, edges=((0, 1), (1, 2))).degrees
    array([1, 2, 1])
    """

    num_agents: int
    """Isolated ones included."""
    edges: tuple[tuple[int, int], ...]
    """Linked pairs (i, j) with i < j, sorted, each once. `from_edges` accepts any order."""

    def __post_init__(self) -> None:
        require_num_agents(self.num_agents)
        for i, j in self.edges:
            _check_edge(self.num_agents, i, j)
        require(
            all(i < j for i, j in self.edges) and list(self.edges) == sorted(self.edges),
            f"an edge list that starts {self.edges[:3]}",
            "each edge is (i, j) with i < j, and edges are sorted",
            "Use from_edges, which puts them in order.",
        )
        _check_unique(self.edges)

    @property
    def num_edges(self) -> int:
        return len(self.edges)

    @property
    def num_links(self) -> int:
        """Directed exchanges in one round of consensus.

        Paper: Eq. (27).  Σ_i |Ω_i|, every agent hears each of its neighbours once.
        """
        return 2 * self.num_edges

    @property
    def adjacency(self) -> Float[np.ndarray, "agent agent"]:
        """One where two agents are linked, else zero."""
        matrix = np.zeros((self.num_agents, self.num_agents))
        if self.edges:
            rows, columns = np.array(self.edges).T
            matrix[rows, columns] = matrix[columns, rows] = 1.0
        return matrix

    @property
    def degrees(self) -> Int[np.ndarray, " agent"]:
        """Number of neighbours |Ω_i| of each agent."""
        ends = np.array(self.edges, dtype=np.int64).ravel()
        return np.bincount(ends, minlength=self.num_agents)

    @property
    def laplacian(self) -> Float[np.ndarray, "agent agent"]:
        """How a round of consensus pulls each agent towards its neighbours.

        Paper: App. F, definition of La.  La_ii = |Ω_i|, La_il = -1 if linked, else 0.
        """
        return np.diag(self.degrees.astype(float)) - self.adjacency

    @property
    def is_connected(self) -> bool:
        """Whether news from any agent can reach every other.

        Paper: Section VI-B, A4.
        """
        return len(components(self)) == 1


def from_edges(num_agents: int, edges: Iterable[Sequence[int]]) -> Graph:
    """Graph from pairs in any order, each undirected edge listed once.

    >>> from_edges(3, [(2, 1), (0, 1)]).edges
    ((0, 1), (1, 2))
    """
    require_num_agents(num_agents)
    pairs = [_pair(num_agents, edge) for edge in edges]
    _check_unique(pairs)
    return Graph(num_agents=num_agents, edges=tuple(sorted(pairs)))


def from_adjacency(matrix: np.ndarray) -> Graph:
    """Graph from a symmetric matrix of zeros and ones.

    >>> from_adjacency(np.array([[0, 1], [1, 0]])).edges
    ((0, 1),)
    """
    require(
        matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.dtype.kind in "biuf",
        f"an adjacency of shape {matrix.shape} and type {matrix.dtype}",
        "a square matrix of numbers",
        "Give one row and one column per agent.",
    )
    require_num_agents(len(matrix))
    _check_entries(matrix)
    rows, columns = np.nonzero(np.triu(matrix))
    return from_edges(len(matrix), list(zip(rows.tolist(), columns.tolist(), strict=True)))


def from_networkx(graph: "networkx.Graph") -> Graph:
    """Graph from networkx; its nodes, in sorted order, become agents 0, 1, 2 and so on."""
    require(
        not (graph.is_directed() or graph.is_multigraph()),
        f"a networkx {type(graph).__name__}",
        "an undirected graph without parallel edges",
        "Convert it with networkx.Graph(...).",
    )
    try:
        agents = {node: agent for agent, node in enumerate(sorted(graph.nodes))}
    except TypeError as mixed:
        raise BadInput(f"nodes that can not be sorted ({mixed}): relabel them 0, 1, 2, …") from None
    return from_edges(len(agents), [(agents[i], agents[j]) for i, j in graph.edges])


def to_networkx(graph: Graph) -> "networkx.Graph":
    """Return the same graph as a networkx object, for its drawings and algorithms."""
    import networkx

    result = networkx.Graph()
    result.add_nodes_from(range(graph.num_agents))
    result.add_edges_from(graph.edges)
    return result


def components(graph: Graph) -> list[tuple[int, ...]]:
    """Sort the agents into groups that reach each other, by lowest agent.

    >>> components(from_edges(4, [(0, 2)]))
    [(0, 2), (1,), (3,)]
    """
    neighbours: list[list[int]] = [[] for _ in range(graph.num_agents)]
    for i, j in graph.edges:
        neighbours[i].append(j)
        neighbours[j].append(i)
    groups: list[tuple[int, ...]] = []
    unseen = set(range(graph.num_agents))
    while unseen:
        group = _reachable(min(unseen), neighbours)
        unseen -= group
        groups.append(tuple(sorted(group)))
    return groups


def require_connected(graph: Graph) -> None:
    """Raise `BadInput` that names the separate groups, unless there is only one.

    Paper: Section VI-B, A4.
    """
    groups = components(graph)
    named = ", ".join("{" + _short(group) + "}" for group in groups[:4])
    require(
        len(groups) == 1,
        f"a graph in {len(groups)} parts ({named}{', …' if len(groups) > 4 else ''})",
        "a connected graph, for gradients must be able to reach every agent",
        f"Link the parts, for example with the edge {groups[0][0]}-{groups[-1][0]}.",
    )


def require_num_agents(
    num_agents: int, most: int = MAX_AGENTS, fix: str = "Use a number such as 7."
) -> None:
    """Raise `BadInput` unless there is an agent, and not too many of them."""
    allowed = f"1 <= num_agents <= {most}"
    require(1 <= num_agents <= most, f"num_agents = {num_agents}", allowed, fix)


def _reachable(start: int, neighbours: list[list[int]]) -> set[int]:
    seen, frontier = {start}, [start]
    while frontier:
        new = [agent for agent in neighbours[frontier.pop()] if agent not in seen]
        seen.update(new)
        frontier.extend(new)
    return seen


def _short(group: Sequence[int]) -> str:
    return ", ".join(map(str, group[:8])) + (", …" if len(group) > 8 else "")


def _pair(num_agents: int, edge: Sequence[int]) -> tuple[int, int]:
    """The edge with its lower end first."""
    try:
        i, j = (operator.index(end) for end in edge)
    except (TypeError, ValueError):
        raise BadInput(f"edge {edge!r} is not allowed: an edge is two whole numbers.") from None
    _check_edge(num_agents, i, j)
    return min(i, j), max(i, j)


def _check_edge(num_agents: int, i: int, j: int) -> None:
    last = num_agents - 1
    allowed = f"agents are numbered 0 … {last}"
    require(min(i, j) >= 0 and max(i, j) <= last, f"edge {i}-{j}", allowed, "Renumber its ends.")
    require(i != j, f"edge {i}-{j}", "an agent is not its own neighbour", "Remove the edge.")


def _check_unique(edges: Iterable[tuple[int, int]]) -> None:
    seen: set[tuple[int, int]] = set()
    for i, j in edges:
        allowed = "each edge is listed once, in one direction"
        require((i, j) not in seen, f"edge {i}-{j} twice", allowed, "Remove one of them.")
        seen.add((i, j))


def _check_entries(matrix: np.ndarray) -> None:
    odd = ~((matrix == 0) | (matrix == 1))  # true for NaN as well
    for bad, allowed in (
        (odd, "entries are 0 or 1"),
        (matrix != matrix.T, "links are symmetric: i hears l exactly if l hears i"),
        (np.diag(np.diag(matrix)) != 0, "an agent is not its own neighbour"),
    ):
        if bad.any():
            i, j = (int(index[0]) for index in np.nonzero(bad))
            what = f"adjacency[{i}, {j}] = {matrix[i, j]} with [{j}, {i}] = {matrix[j, i]}"
            require(False, what, allowed, f"Correct the pair {i}-{j}.")
