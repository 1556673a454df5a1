"""Who talks to whom: graphs of agents, how fast they agree, and the weights they mix with.

Start with `graph.py` (what a graph is), then `mixing.py` (the rounds W_1 … W_E that training,
billing and bounds share). `graph_search.py` finds the graph for a budget of links. NumPy only;
networkx is imported by the few functions that need it. Nothing here prints, draws or knows about
learning.
"""

from fmarl.topology.families import (
    circulant,
    complete,
    nearest,
    paper_13,
    paper_13_other,
    paper_16,
    path,
    random_geometric,
    random_regular,
    ring,
    star,
)
from fmarl.topology.fdla import Fdla, fdla_matrix
from fmarl.topology.graph import (
    Graph,
    components,
    from_adjacency,
    from_edges,
    from_networkx,
    require_connected,
    to_networkx,
)
from fmarl.topology.graph_file import read_graph
from fmarl.topology.graph_search import best_graph, best_graph_with, connected_graphs
from fmarl.topology.mixing import (
    WEIGHTS,
    Rounds,
    chebyshev_weights,
    check_mixing,
    constant_weights,
    fdla_weights,
    metropolis_weights,
    optimal_weights,
    paper_step_problem,
)
from fmarl.topology.registry import GRAPHS, graph_from_text
from fmarl.topology.spectrum import (
    algebraic_connectivity,
    best_contraction,
    best_step,
    disagreement_left,
    laplacian_eigenvalues,
    largest_contracting_step,
    largest_paper_step,
)

__all__ = [
    "GRAPHS",
    "WEIGHTS",
    "Fdla",
    "Graph",
    "Rounds",
    "algebraic_connectivity",
    "best_contraction",
    "best_graph",
    "best_graph_with",
    "best_step",
    "chebyshev_weights",
    "check_mixing",
    "circulant",
    "complete",
    "components",
    "connected_graphs",
    "constant_weights",
    "disagreement_left",
    "fdla_matrix",
    "fdla_weights",
    "from_adjacency",
    "from_edges",
    "from_networkx",
    "graph_from_text",
    "laplacian_eigenvalues",
    "largest_contracting_step",
    "largest_paper_step",
    "metropolis_weights",
    "nearest",
    "optimal_weights",
    "paper_13",
    "paper_13_other",
    "paper_16",
    "paper_step_problem",
    "path",
    "random_geometric",
    "random_regular",
    "read_graph",
    "require_connected",
    "ring",
    "star",
    "to_networkx",
]
