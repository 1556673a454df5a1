"""What does not change while a run goes, for the page: its settings, road, method and bound."""

import shlex
from typing import Any

from fmarl.federation.method import Method
from fmarl.federation.run_labels import flat_settings, label_of
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.report.bound_curve import bound_of
from fmarl.report.run_reader import read_recorded_run, recorded_method
from fmarl.theory import Problem
from fmarl.topology import algebraic_connectivity, disagreement_left, from_edges
from fmarl.web.road import road_facts

PRICES = ("upload_cost", "update_cost", "exchange_cost", "mixing_cost")


def about_run(folder: RunFolder, name: str) -> dict[str, Any]:
    """Everything about a run but its course; `BadInput` if its description can not be read."""
    description = read_run(folder.path)
    settings = description["experiment"]
    method, facts = recorded_method(folder)
    problem = Problem(smoothness=1.0, gradient_noise=0.0)
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
        "prices": {price: getattr(problem, price) for price in PRICES},
        "bound": bound_facts(folder, name),
    }


def method_facts(method: Method, facts: dict[str, Any]) -> dict[str, Any]:
    """A method in the page's words: `method.json`, and how well neighbours come to agree."""
    links = method.links
    return {
        **facts,
        "links": [list(pair) for pair in links],
        "averages": method.averages != "none",
        **(_agreement(method) if links else {}),
    }


def _agreement(method: Method) -> dict[str, float]:
    graph = from_edges(method.num_agents, method.links)
    return {
        "algebraic_connectivity": algebraic_connectivity(graph),
        "contraction": disagreement_left(method.mixing),
    }


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
