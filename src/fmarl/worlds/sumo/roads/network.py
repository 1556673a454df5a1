"""From a road to the compiled network that SUMO reads: shipped, cached, or compiled by netconvert.

A network is named by the hash of its description, so a changed number can never meet an old file.
"""

import hashlib
import os
import re
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from jaxtyping import Float

from fmarl.errors import BadInput
from fmarl.worlds.sumo.roads.description import Edge, Node, Road

SHIPPED = Path(str(files("fmarl.worlds.sumo.roads") / "data"))
"""Networks of the presets, made by `python -m fmarl.worlds.sumo.roads`."""


def compiled_network(road: Road) -> Path:
    """The file of a road's network; compiles it on first use if it is not a shipped one."""
    name = network_name(road)
    for folder in (SHIPPED, _cache()):
        if (folder / name).is_file() and is_whole(folder / name):
            return folder / name
    return compile_network(road, _cache())


def network_name(road: Road) -> str:
    """File name that changes with every number of the road."""
    parts = "".join(_sources(road).values()) + " ".join(_options(road))
    return f"{road.name}-{hashlib.sha256(parts.encode()).hexdigest()[:12]}.net.xml"


def compile_network(road: Road, folder: Path) -> Path:
    """Run netconvert, and put the network under its name into a folder."""
    target = folder / network_name(road)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in _sources(road).items():
            Path(scratch, name).write_text(text)
        _netconvert(road, Path(scratch))
        temporary = target.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(_without_comments(Path(scratch, "out.net.xml").read_text()))
        temporary.replace(target)  # two processes may compile the same road at once
    return target


def is_whole(network: Path) -> bool:
    """Whether a file is a network to its end; SUMO itself crashes on one that is not."""
    try:
        return ElementTree.parse(network).getroot().tag == "net"
    except (ElementTree.ParseError, OSError):
        return False


def lane_lengths(network: Path) -> dict[str, float]:
    """Length of every lane of a compiled network, junctions included."""
    return {lane.attrib["id"]: float(lane.attrib["length"]) for lane in _lanes(network)}


def lane_limits(network: Path) -> dict[str, float]:
    """Speed limit of every lane, in metres per second."""
    return {lane.attrib["id"]: float(lane.attrib["speed"]) for lane in _lanes(network)}


def lane_shapes(network: Path) -> dict[str, Float[np.ndarray, "point 2"]]:
    """Centre line of every lane, for drawing."""
    return {lane.attrib["id"]: _points(lane.attrib["shape"]) for lane in _lanes(network)}


def _lanes(network: Path) -> list[ElementTree.Element]:
    return list(ElementTree.parse(network).getroot().iter("lane"))


def _points(shape: str) -> Float[np.ndarray, "point 2"]:
    return np.array([[float(number) for number in point.split(",")] for point in shape.split()])


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "fmarl" / "roads"


def _netconvert(road: Road, scratch: Path) -> None:
    sources = "-n road.nod.xml -e road.edg.xml -x road.con.xml -o out.net.xml"
    command = [_netconvert_binary(), *sources.split(), *_options(road)]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = " ".join((done.stderr or done.stdout).split())[:200]
        raise BadInput(f"netconvert refuses the road {road.name}: {reason}. Change its numbers.")


def _netconvert_binary() -> str:
    """The real binary of the wheel `eclipse-sumo`; the command of that name is a slow wrapper."""
    try:
        import sumo  # type: ignore[import-not-found]
    except ImportError:
        raise BadInput(
            "this road is not a preset and must be compiled, but netconvert is missing. "
            "Get it with: pip install 'fmarl[roads]'"
        ) from None
    return str(Path(sumo.SUMO_HOME) / "bin" / "netconvert")


def _options(road: Road) -> list[str]:
    options = ["--no-turnarounds", "true", "--no-internal-links", "false"]
    return options if road.limit_turn_speed else [*options, "--junctions.limit-turn-speed", "-1"]


def _without_comments(text: str) -> str:
    """Drop netconvert's comments: a date, a version and paths of the machine it ran on."""
    return re.sub(r"\s*<!--.*?-->", "", text, flags=re.DOTALL)


def _sources(road: Road) -> dict[str, str]:
    nodes = "".join(map(_node, road.nodes))
    edges = "".join(_edge(edge, road.speed_limit) for edge in road.edges)
    connections = "".join(
        f'<connection from="{start}" to="{end}" fromLane="0" toLane="0"/>'
        for start, end in road.connections
    )
    return {
        "road.nod.xml": f"<nodes>{nodes}</nodes>",
        "road.edg.xml": f"<edges>{edges}</edges>",
        "road.con.xml": f"<connections>{connections}</connections>",
    }


def _node(node: Node) -> str:
    kind = ' type="priority"' if node.is_priority else ""
    radius = f' radius="{node.radius:g}"' if node.radius is not None else ""
    return f'<node id="{node.name}" x="{node.place[0]:.2f}" y="{node.place[1]:.2f}"{kind}{radius}/>'


def _edge(edge: Edge, speed_limit: float) -> str:
    priority = f' priority="{edge.priority}"' if edge.priority is not None else ""
    points = " ".join(f"{x:.2f},{y:.2f}" for x, y in edge.shape)
    shape = f' shape="{points}"' if points else ""
    return (
        f'<edge id="{edge.name}" from="{edge.start}" to="{edge.end}" length="{edge.length:.2f}" '
        f'numLanes="1" speed="{speed_limit:g}"{priority}{shape}/>'
    )
