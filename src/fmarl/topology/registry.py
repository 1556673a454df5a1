"""From what a user types to a graph: a recipe's word, an inline edge list, or a file."""

from collections.abc import Callable
from pathlib import Path

from fmarl.errors import BadInput, did_you_mean, require
from fmarl.topology import families
from fmarl.topology.graph import Graph, from_edges, require_num_agents
from fmarl.topology.graph_file import parse_edge, read_graph
from fmarl.topology.graph_search import best_graph

USUAL_AGENTS = 7  # as many as learn in the paper's Figure Eight

GraphMaker = Callable[[int, str | None, int], Graph]


def graph_from_text(text: str, num_agents: int | None = None, seed: int = 0) -> Graph:
    """Graph from a word (`ring`, `nearest:4`), an edge list (`0-1,1-2`) or a file's path.

    Without a number of agents, a word makes a graph of 7 and a list or file says how many.

    >>> graph_from_text("nearest:4", 8).num_edges
    16
    >>> graph_from_text("0-1,1-2").num_agents
    3
    """
    word, colon, argument = text.strip().partition(":")
    if word in GRAPHS:
        agents = USUAL_AGENTS if num_agents is None else num_agents
        require_num_agents(agents)  # before any edge is made
        return GRAPHS[word](agents, argument if colon else None, seed)
    if text.strip() and set(text) <= set("0123456789-, "):
        edges = [_inline_edge(item) for item in text.split(",")]
        return from_edges(num_agents or 1 + max(map(max, edges)), edges)
    if _is_file(text):
        return read_graph(text, num_agents)
    raise BadInput(_unknown(text))


def _plain(recipe: Callable[[int], Graph]) -> GraphMaker:
    """A graph of the number of agents alone."""

    def build(num_agents: int, argument: str | None, _seed: int) -> Graph:
        require(argument is None, f"':{argument}'", "this graph takes no argument", "Leave it out.")
        return recipe(num_agents)

    return build


def _of_the_paper(recipe: Callable[[], Graph]) -> GraphMaker:
    """A graph without any choice: those of the paper have 7 agents."""

    def build(num_agents: int) -> Graph:
        what = f"num_agents = {num_agents} with a graph of the paper"
        require(num_agents == 7, what, "it has 7 agents", "Use 7 agents, or another graph.")
        return recipe()

    return _plain(build)


def _geometric(num_agents: int, argument: str | None, seed: int) -> Graph:
    try:
        radius = float(argument or "")
    except ValueError:
        raise BadInput(_wants(argument, "a number", "geometric:0.5")) from None
    return families.random_geometric(num_agents, radius, seed)


GRAPHS: dict[str, GraphMaker] = {
    "path": _plain(families.path),
    "ring": _plain(families.ring),
    "star": _plain(families.star),
    "complete": _plain(families.complete),
    "nearest": lambda n, text, _seed: families.nearest(n, _whole(text, "nearest:4")),
    "regular": lambda n, text, seed: families.random_regular(n, _whole(text, "regular:3"), seed),
    "geometric": _geometric,
    "paper-13": _of_the_paper(families.paper_13),
    "paper-13-other": _of_the_paper(families.paper_13_other),
    "paper-16": _of_the_paper(families.paper_16),
    "best": lambda n, text, seed: best_graph(n, _whole(text, "best:9"), seed),
}
"""From the word of the command line to `(num_agents, argument, seed) -> Graph`."""


def _whole(argument: str | None, example: str) -> int:
    text = (argument or "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise BadInput(_wants(argument, "a whole number", example))
    return int(text)


def _wants(argument: str | None, kind: str, example: str) -> str:
    given = "no argument" if argument is None else f"argument {argument[:60]!r}"
    word = example.partition(":")[0]
    return f"{given} is not allowed: {word} takes {kind}. Write, for example, {example}."


def _inline_edge(item: str) -> tuple[int, int]:
    if (edge := parse_edge(item)) is None:
        form = "an edge list looks like 0-1,1-2,2-3"
        raise BadInput(f"edge {item[:60]!r} is not allowed: {form}.")
    return edge


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a name too long, or with a NUL: not a file's name
        return False


def _unknown(text: str) -> str:
    word = text.partition(":")[0].strip().lower()
    hint = did_you_mean(word, GRAPHS, "Or an edge list 0-1,1-2, or a file.")
    shown = repr(text if len(text) <= 60 else text[:60] + "…")
    return f"graph {shown} is not known, nor is it a file: {', '.join(GRAPHS)}. {hint}"
