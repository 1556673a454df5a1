"""Graphs that people keep in files: one edge per line, or JSON. Files are not trusted."""

import json
import re
from pathlib import Path
from typing import Any

from fmarl.errors import BadInput, require
from fmarl.topology.graph import Graph, from_edges

MAX_BYTES = 1_000_000
# Nine digits at most: no huge integers. "0 -1" is no edge, for it may mean a negative number.
_EDGE = re.compile(r"\s*([0-9]{1,9})(?:-|\s+-\s+|\s*,\s*|\s+)([0-9]{1,9})\s*")
_FORMS = "an edge is two agent numbers: '0 1', '0-1' or '0,1'"


def read_graph(path: str | Path, num_agents: int | None = None) -> Graph:
    """Read a graph from a text file (an edge per line, # comments) or a JSON file.

    JSON is `{"num_agents": 7, "edges": [[0, 1], …]}` or a bare list of pairs. Without
    `num_agents`, in the file or as argument, the highest number listed is the last agent.
    """
    text = _read_text(Path(path))
    is_json = Path(path).suffix.lower() == ".json" or text.lstrip()[:1] in ("{", "[")
    try:
        declared, edges = _parse_json(text) if is_json else (None, _parse_lines(text))
        return from_edges(_settle_num_agents(declared, num_agents, edges), edges)
    except BadInput as problem:
        raise BadInput(f"{path}: {problem}") from None


def parse_edge(text: str) -> tuple[int, int] | None:
    """Return the ends of an edge such as `0-1`, `0,1` or `0 1`; None if it is not one.

    >>> parse_edge("3-4"), parse_edge("3-x")
    ((3, 4), None)
    """
    match = _EDGE.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else None


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, ValueError) as problem:  # absent, a folder, no permission, not UTF-8
        reason = getattr(problem, "strerror", None) or str(problem)
        reason = "not UTF-8" if isinstance(problem, UnicodeDecodeError) else reason
        raise BadInput(f"{path}: can not be read ({reason}). Give a small text file.") from None
    small = len(content) <= MAX_BYTES
    require(small, f"{path}: a file over 1 MB", "at most 1 MB", "Is it a graph at all?")
    return text


def _parse_lines(text: str) -> list[tuple[int, int]]:
    edges = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        if (edge := parse_edge(content)) is None:
            raise BadInput(f"line {number}, {_clip(content)}, is not allowed: {_FORMS}.")
        edges.append(edge)
    return edges


def _parse_json(text: str) -> tuple[int | None, list[tuple[int, int]]]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"not JSON ({_clip(str(problem), quote=False)}).") from None
    declared = content.get("num_agents") if isinstance(content, dict) else None
    pairs = content.get("edges") if isinstance(content, dict) else content
    if not isinstance(pairs, list) or not (declared is None or _is_count(declared)):
        example = '{"num_agents": 3, "edges": [[0, 1], [1, 2]]}'
        raise BadInput(f"JSON of an unknown form: it must look like {example}.")
    return declared, [_json_edge(pair) for pair in pairs]


def _json_edge(pair: Any) -> tuple[int, int]:
    if not (isinstance(pair, list) and len(pair) == 2 and all(_is_count(end) for end in pair)):
        raise BadInput(
            f"edge {_clip(json.dumps(pair), quote=False)} is not allowed: [0, 1] is one."
        )
    return pair[0], pair[1]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**9  # `type`, for True is an int to isinstance


def _settle_num_agents(
    declared: int | None, wanted: int | None, edges: list[tuple[int, int]]
) -> int:
    require(
        None in (declared, wanted) or declared == wanted,
        f"a file for {declared} agents",
        f"{wanted} agents were asked for",
        "Change one of the two.",
    )
    require(bool(edges) or declared is not None, "no edges", "at least one", f"Remember: {_FORMS}.")
    given = declared if declared is not None else wanted
    return given if given is not None else 1 + max(max(edge) for edge in edges)


def _clip(text: str, quote: bool = True) -> str:
    """Return text short enough, and free of line breaks, for a one-line message."""
    shown = text if len(text) <= 60 else text[:60] + "…"
    return repr(shown) if quote else " ".join(shown.split())
