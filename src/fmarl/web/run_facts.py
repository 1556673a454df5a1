"""What does not change while a run goes, for the page: its settings, road, method and bound."""

import shlex
from typing import Any

from fmarl.errors import BadInput
from fmarl.federation.method import Method
from fmarl.federation.run_labels import flat_settings, label_of
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.report.bound_curve import bound_of
from fmarl.report.run_reader import read_recorded_run, recorded_method
from fmarl.report.run_scores import PRICES
from fmarl.settings_io import parse_changes, with_changes
from fmarl.topology import algebraic_connectivity, disagreement_left, from_edges
from fmarl.worlds.registry import ROADS
from fmarl.worlds.sumo import figure_eight, merge_options
from fmarl.worlds.sumo.roads.description import Road
from fmarl.worlds.sumo.roads.network import compiled_network, lane_shapes

PRICE_NAMES = ("upload_cost", "update_cost", "exchange_cost", "mixing_cost")
PRESETS: dict[str, dict[str, Any]] = {
    "figure-eight": figure_eight.PRESETS,
    "merge": merge_options.PRESETS,
}
LANE_METRES = 3.2
"""SUMO's width of a lane that is given none."""


def about_run(folder: RunFolder, name: str) -> dict[str, Any]:
    """Everything about a run but its course; `BadInput` if its description can not be read."""
    description = read_run(folder.path)
    settings = description["experiment"]
    method, facts = recorded_method(folder)
    return {
        "run": name,
        "name": name,
        "label": label_of(settings),
        "world": settings["world"],
        "started": description["started"],
        "command": shlex.join(["fmarl", *description["command_line"][1:]]),
        "versions": description["versions"],
        "settings": flat_settings(settings),
        "num_agents": method.num_agents if method else None,
        "road": road_facts(settings),
        "method": method_facts(method, facts) if method else None,
        "prices": {name: getattr(PRICES, name) for name in PRICE_NAMES},
        "bound": bound_facts(folder, name),
    }


def road_facts(settings: dict[str, Any]) -> dict[str, Any] | None:
    """What the page draws a run's road from; None for a world without one."""
    if settings.get("world") not in ROADS:
        return None
    changes = parse_changes(settings.get("set", ()))
    preset = PRESETS[settings["world"]][str(changes.pop("preset", "zju"))]
    options: Any = with_changes(preset, changes)
    vehicle = getattr(options, "vehicle_type", None) or options.human_type
    return {
        "lanes": _lanes(options.road()),
        "lane_metres": LANE_METRES,
        "vehicle_metres": vehicle.length,
        "speed_limit": options.speed_limit,
        "step_seconds": options.step_seconds * getattr(options, "steps_per_action", 1),
        "max_accel": options.max_accel,
    }


def _lanes(road: Road) -> list[list[list[float]]]:
    """Centre lines; none if this machine can not compile the road that another one drove on."""
    try:
        shapes = lane_shapes(compiled_network(road))
    except BadInput:
        return []
    return [shape.round(2).tolist() for shape in shapes.values()]


def method_facts(method: Method, facts: dict[str, Any]) -> dict[str, Any]:
    """A method in the page's words: `method.json`, and how well neighbours come to agree."""
    links = [list(pair) for pair in method.links]
    found = {**facts, "links": links, "averages": method.averages != "none"}
    if links:
        graph = from_edges(method.num_agents, method.links)
        found["algebraic_connectivity"] = algebraic_connectivity(graph)
        found["contraction"] = disagreement_left(method.mixing)
    return found


def bound_facts(folder: RunFolder, name: str) -> dict[str, Any]:
    """The corrected bound along a run, or why there is none."""
    found = bound_of(read_recorded_run(folder.path, name))
    if isinstance(found, str):
        return {"text": found}
    return {
        "updates": found.updates.tolist(),
        "values": found.values.tolist(),
        "smoothness": found.smoothness,
        "gradient_noise": found.gradient_noise,
        "holds": found.holds,
        "text": found.text,
    }
