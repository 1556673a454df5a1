"""Make the shipped networks again: `python -m fmarl.worlds.sumo.roads`. Needs netconvert."""

import sys

from fmarl.worlds.sumo import figure_eight, merge
from fmarl.worlds.sumo.roads.network import SHIPPED, compile_network

PRESETS = (*figure_eight.PRESETS.values(), *merge.PRESETS.values())
PRESET_ROADS = [options.road() for options in PRESETS]

if __name__ == "__main__":
    for old in SHIPPED.glob("*.net.xml"):
        old.unlink()
    for road in PRESET_ROADS:
        sys.stdout.write(f"{compile_network(road, SHIPPED)}\n")
