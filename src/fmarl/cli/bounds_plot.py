"""One setting with one of its numbers varied, for `fmarl bounds --plot`."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fmarl.cli.bounds_eval import BoundsResult, evaluate
from fmarl.cli.bounds_setting import Setting
from fmarl.errors import BadInput, require
from fmarl.topology import graph_from_text, largest_contracting_step

Axis = Literal["sync_period", "decay_rate", "consensus_rounds", "consensus_step", "num_agents"]

LABELS: dict[Axis, str] = {
    "sync_period": "sync period τ",
    "decay_rate": "decay rate λ",
    "consensus_rounds": "consensus rounds E",
    "consensus_step": "consensus step ε",
    "num_agents": "number of agents m",
}


def sweep(setting: Setting, axis: Axis, path: Path) -> None:
    """Draw the bounds of a setting against one of its numbers."""
    from fmarl.report.figures import Curve, draw_sweep, save_figure

    points = list(_points(setting, axis))
    values = [getattr(point.setting, axis) for point in points]
    curves = [
        Curve(
            "printed (claimed by the paper)",
            [p.bounds[p.claimed]["total"] for p in points],
            "printed",
        ),
        Curve("corrected, simple", [p.bounds["weighted"]["total"] for p in points], "simple"),
        Curve("corrected, sharp", [p.bounds["sharp"]["total"] for p in points], "sharp"),
    ]
    figure = draw_sweep(
        values,
        curves,
        title=f"{setting.title()}: bound on the squared gradient norm",
        label=LABELS[axis],
        here=getattr(setting, axis),
        infeasible_from=float(setting.initial_gradient_norm),
        admissible=[_admissible(point) for point in points],
    )
    save_figure(figure, path)


def _points(setting: Setting, axis: Axis) -> Iterator[BoundsResult]:
    """The setting at every value that its graph allows; the setting itself is always allowed."""
    for value in _values(setting, axis):
        varied = _varied(setting, axis, value)
        try:
            yield evaluate(varied)
        except BadInput:
            if axis != "num_agents":  # a nearest:4 graph needs five agents, a regular one parity
                raise


def _admissible(point: BoundsResult) -> bool:
    return float(point.plan.learning_rate) <= point.bounds[point.claimed]["largest_learning_rate"]


def _values(setting: Setting, axis: Axis) -> Iterable[Any]:
    if axis in ("consensus_rounds", "consensus_step"):
        require(
            setting.graph != "none",
            f"--against {axis} without a graph",
            "a graph",
            "Add --graph ring.",
        )
    if axis == "sync_period":
        return range(1, max(30, 2 * setting.sync_period) + 1)
    if axis == "num_agents":
        return range(3, max(30, 2 * setting.num_agents) + 1)
    if axis == "consensus_rounds":
        return range(max(10, 2 * setting.consensus_rounds) + 1)
    if axis == "decay_rate":
        return np.linspace(0.5, 1, 51).tolist()
    graph = graph_from_text(setting.graph, setting.num_agents, seed=setting.seed)
    return (largest_contracting_step(graph) * np.linspace(0.01, 0.99, 50)).tolist()


def _varied(setting: Setting, axis: Axis, value: Any) -> Setting:
    if axis == "sync_period":
        return replace(setting, sync_period=value, local_updates=_rescaled(setting, value))
    if axis == "num_agents":
        require(
            not setting.step_seconds and "," not in setting.local_updates,
            "--against num_agents with one entry per agent",
            "local updates for any number of agents",
            "Use all, or a range such as 1-15.",
        )
    return replace(setting, **{axis: value})


def _rescaled(setting: Setting, period: int) -> str:
    """A range of τ_i keeps its shape as the period changes; a list fixes the period."""
    if setting.step_seconds or setting.local_updates == "all":
        return setting.local_updates
    if "," in setting.local_updates or "-" not in setting.local_updates:
        raise BadInput(
            f"--against sync_period with local_updates = {setting.local_updates} is not allowed: "
            "a list fixes the period. Use all, or a range such as 1-15."
        )
    fewest = int(setting.local_updates.split("-")[0])
    return f"{max(1, round(fewest * period / setting.sync_period))}-{period}"
