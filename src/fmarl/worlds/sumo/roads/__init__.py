"""Roads: what they look like, and the compiled networks that SUMO drives on."""

from fmarl.worlds.sumo.roads.description import Edge, Node, Road, figure_eight_road, merge_road
from fmarl.worlds.sumo.roads.network import (
    compile_network,
    compiled_network,
    lane_lengths,
    lane_shapes,
    network_name,
)

__all__ = [
    "Edge",
    "Node",
    "Road",
    "compile_network",
    "compiled_network",
    "figure_eight_road",
    "lane_lengths",
    "lane_shapes",
    "merge_road",
    "network_name",
]
