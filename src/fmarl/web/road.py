"""The road of a run, for drawing: lanes in metres, and what is needed to read its frames."""

from typing import Any

from fmarl.errors import BadInput
from fmarl.settings_io import parse_changes, with_changes
from fmarl.worlds.registry import ROADS
from fmarl.worlds.sumo import figure_eight, merge_options
from fmarl.worlds.sumo.roads import Road, compiled_network, lane_shapes

PRESETS: dict[str, dict[str, Any]] = {
    "figure-eight": figure_eight.PRESETS,
    "merge": merge_options.PRESETS,
}
LANE_METRES = 3.2
"""SUMO's width of a lane that is given none."""


def road_facts(settings: dict[str, Any]) -> dict[str, Any] | None:
    """What the page draws a run's road from; None for a world without one."""
    if settings.get("world") not in ROADS:
        return None
    options = _options(settings)
    vehicle = getattr(options, "vehicle_type", None) or options.human_type
    return {
        "lanes": _lanes(options.road()),
        "lane_metres": LANE_METRES,
        "vehicle_metres": vehicle.length,
        "speed_limit": options.speed_limit,
        "step_seconds": options.step_seconds * getattr(options, "steps_per_action", 1),
        "max_accel": options.max_accel,
    }


def _options(settings: dict[str, Any]) -> Any:
    changes = parse_changes(settings.get("set", ()))
    preset = PRESETS[settings["world"]][str(changes.pop("preset", "zju"))]
    return with_changes(preset, changes)


def _lanes(road: Road) -> list[list[list[float]]]:
    """Centre lines; none if this machine can not compile the road that another one drove on."""
    try:
        shapes = lane_shapes(compiled_network(road))
    except BadInput:
        return []
    return [shape.round(2).tolist() for shape in shapes.values()]
