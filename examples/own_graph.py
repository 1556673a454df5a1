"""A graph of your own: two rings joined by one link, and how fast its agents agree."""

from fmarl.topology import Graph, best_contraction, from_edges, ring


def two_rings(size: int) -> Graph:
    """Two rings of `size` agents each, with a single link between them."""
    first = ring(size).edges
    second = [(i + size, j + size) for i, j in first]
    return from_edges(2 * size, [*first, *second, (0, size)])


if __name__ == "__main__":
    graph = two_rings(5)
    print(f"{graph.num_edges} edges, at best {best_contraction(graph):.4f} is left per round")
