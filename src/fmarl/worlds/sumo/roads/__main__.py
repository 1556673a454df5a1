"""Make the shipped networks again: `python -m fmarl.worlds.sumo.roads`. Needs netconvert."""

import sys

from fmarl.worlds.sumo.roads.description import figure_eight_road, merge_road
from fmarl.worlds.sumo.roads.network import SHIPPED, compile_network

PRESET_ROADS = [
    make(speed_limit=speed_limit)
    for make in (figure_eight_road, merge_road)
    for speed_limit in (20.0, 30.0)
]
"""Speed limits of the presets `zju` and `flow`."""

if __name__ == "__main__":
    for old in SHIPPED.glob("*.net.xml"):
        old.unlink()
    for road in PRESET_ROADS:
        sys.stdout.write(f"{compile_network(road, SHIPPED)}\n")
