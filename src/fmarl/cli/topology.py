"""`fmarl topology`: how fast a graph of agents agrees with each weighting, and what it costs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from fmarl.cli.output import Flag, print_json, print_table, print_text, warn
from fmarl.errors import BadInput
from fmarl.theory import Problem
from fmarl.topology import (
    WEIGHTS,
    Graph,
    algebraic_connectivity,
    best_contraction,
    best_step,
    disagreement_left,
    graph_from_text,
    laplacian_eigenvalues,
    largest_contracting_step,
    largest_paper_step,
    paper_step_problem,
    require_connected,
)


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Spectrum, contraction, admissible step and cost per slot of a communication graph."""

    graph: tyro.conf.Positional[str] = "paper-13"
    """ring, path, star, complete, nearest:K, regular:D, geometric:R, best:EDGES, paper-13,
    paper-16, an edge list 0-1,1-2, or a file."""
    num_agents: int | None = None
    """m: how many agents; by default 7, or as many as a list or file names."""
    consensus_step: float = 0.1
    """ε: step of the paper's weights."""
    consensus_rounds: int = 1
    """E: exchanges before each update."""
    exchange_cost: float = float(Problem.exchange_cost)
    """W1: price of one gradient sent to a neighbour."""
    mixing_cost: float = float(Problem.mixing_cost)
    """W2: price of mixing one received gradient."""
    seed: int = 0
    """Seed of random graphs."""
    json: Flag = False
    """Print everything as JSON."""
    plot: Path | None = None
    """Draw the graph to this file (.png, .pdf or .svg)."""

    def run(self) -> int:
        graph = graph_from_text(self.graph, self.num_agents, seed=self.seed)
        require_connected(graph)
        facts, weightings = _facts(graph), self._weightings(graph)
        if outside := paper_step_problem(graph, self.consensus_step):
            warn(outside)
        if self.plot is not None:
            self._draw(graph, facts, self.plot)
        if self.json:
            print_json({"graph": self.graph, **facts, "weights": weightings})
        else:
            self._show(graph, facts, weightings)
        return 0

    def _weightings(self, graph: Graph) -> dict[str, dict[str, float]]:
        """What is left with each weighting; one that this graph does not allow says why."""
        prices = Problem(  # checks that both can be prices
            smoothness=1.0,
            gradient_noise=0.0,
            exchange_cost=self.exchange_cost,
            mixing_cost=self.mixing_cost,
        )
        price = float(prices.exchange_cost + prices.mixing_cost)
        found = {}
        for name, recipe in WEIGHTS.items():
            try:
                rounds = recipe(graph, self.consensus_step, self.consensus_rounds)
            except BadInput as error:
                if name == "paper":  # the only one that the flags can get wrong
                    raise
                warn(f"no {name} weights: {error}")
                continue
            left = disagreement_left(rounds)
            found[name] = {
                "disagreement_left": left,
                "drift_factor": left**2,
                "cost_per_slot": graph.num_links * len(rounds) * price,
            }
        return found

    def _show(
        self, graph: Graph, facts: dict[str, Any], weightings: dict[str, dict[str, float]]
    ) -> None:
        spectrum = " ".join(f"{value:.4f}" for value in facts["laplacian_eigenvalues"])
        print_text(
            self._title(graph),
            "edges " + " ".join(f"{i}-{j}" for i, j in graph.edges),
            "degrees " + " ".join(map(str, graph.degrees)),
            f"Laplacian spectrum {spectrum}",
            f"algebraic connectivity μ2 = {facts['algebraic_connectivity']:.4f}",
            f"admissible step: paper ε < {facts['largest_paper_step']:.4f}, "
            f"contracting ε < {facts['largest_contracting_step']:.4f}, "
            f"best ε* = {facts['best_step']:.4f} "
            f"(leaves {facts['best_contraction']:.4f} per round)",
        )
        title = f"E = {self.consensus_rounds} round(s) over {graph.num_links} links"
        columns = ["weights", "disagreement left", "drift factor", "cost per slot"]
        rows = [[name, *row.values()] for name, row in weightings.items()]
        print_table(title, columns, rows, least=("cost per slot", "drift factor"))

    def _draw(self, graph: Graph, facts: dict[str, Any], path: Path) -> None:
        from fmarl.report.figures import draw_graph, save_figure

        connectivity, step = facts["algebraic_connectivity"], facts["best_step"]
        subtitle = f"μ2 = {connectivity:.4f}, best step ε* = {step:.4f}"
        title = self._title(graph)
        save_figure(draw_graph(graph.edges, graph.num_agents, title=title, subtitle=subtitle), path)

    def _title(self, graph: Graph) -> str:
        return f"{self.graph}: {graph.num_agents} agents, {len(graph.edges)} edges"


def _facts(graph: Graph) -> dict[str, Any]:
    return {
        "num_agents": graph.num_agents,
        "edges": list(graph.edges),
        "degrees": graph.degrees.tolist(),
        "links": graph.num_links,
        "laplacian_eigenvalues": laplacian_eigenvalues(graph).tolist(),
        "algebraic_connectivity": algebraic_connectivity(graph),
        "largest_paper_step": largest_paper_step(graph),
        "largest_contracting_step": largest_contracting_step(graph),
        "best_step": best_step(graph),
        "best_contraction": best_contraction(graph),
    }
