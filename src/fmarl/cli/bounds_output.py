"""How `fmarl bounds` shows its answer: a table for one setting, a table for many, or JSON."""

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from fmarl.cli.bounds_eval import BoundsResult
from fmarl.cli.output import print_json, print_lines, print_table
from fmarl.theory import needed_exchanges, normalised_utility
from fmarl.theory.catalogue import BOUNDS
from fmarl.theory.planner import best_learning_rate, best_sync_period, largest_sync_period

TERMS = {
    "optimisation": "distance",
    "noise": "noise",
    "drift": "drift",
    "total": "total",
    "largest_learning_rate": "largest η",
    "utility": "utility",
}
"""The numbers of a bound, and their column titles."""


def show_evaluations(evaluations: Sequence[BoundsResult], *, as_json: bool) -> None:
    """Print what was computed."""
    if as_json:
        print_json([_as_facts(evaluation) for evaluation in evaluations])
    elif len(evaluations) == 1:
        _show_one(evaluations[0])
    else:
        _show_many(evaluations)


def show_citations() -> None:
    """Print which function executes which equation."""
    from fmarl.report.citations import EQUATIONS, collect_citations

    found = collect_citations(("theory", "topology"))
    cited = [citation for citation in found if citation.equations]
    for number, title in EQUATIONS.items():
        names = [citation.name for citation in cited if number in citation.equations]
        if names:
            print_lines(f"Eq. ({number}), {title}: {', '.join(names)}")


def _show_one(evaluation: BoundsResult) -> None:
    plan, count = evaluation.plan, evaluation.overheads
    title = f"{evaluation.setting.title()}: bounds on the squared gradient norm"
    columns = ["bound", "form", *TERMS.values(), "average over"]
    print_table(title, columns, [_bound_row(evaluation, name) for name in BOUNDS])
    low = ", below 1/2: the printed bound can fail" if evaluation.average_weight < 0.5 else ""
    print_lines(
        f"agents m = {plan.num_agents}, updates K = {plan.total_updates}, "
        f"τ_i = {', '.join(map(str, plan.local_updates))}",
        f"cost ψ0 = {evaluation.cost:g}: {count['uploads']:g} uploads, "
        f"{count['updates']:g} updates, {count['exchanges']:g} exchanges",
        f"average weight of a step A = {evaluation.average_weight:.4g}{low}",
        f"disagreement left after mixing = {float(plan.disagreement_left):.4g}",
        *(f"{name.replace('_', ' ')} = {value:.4g}" for name, value in _best(evaluation).items()),
        f"* the bound that the paper claims for this method: {evaluation.claimed}",
    )


def _bound_row(evaluation: BoundsResult, name: str) -> list[object]:
    numbers, entry = evaluation.bounds[name], BOUNDS[name]
    mark = " *" if name == evaluation.claimed else ""
    return [name + mark, entry.form, *(numbers[key] for key in TERMS), entry.average]


def _show_many(evaluations: Sequence[BoundsResult]) -> None:
    sharp = np.array([evaluation.bounds["sharp"]["utility"] for evaluation in evaluations])
    proved = ("sharp", "synchronised", "normalised")
    rows = [
        [
            evaluation.setting.title(),
            evaluation.cost,
            evaluation.average_weight,
            evaluation.claimed,
            evaluation.bounds[evaluation.claimed]["total"],
            *(evaluation.bounds[name]["total"] for name in proved),
            float(worth),
        ]
        for evaluation, worth in zip(evaluations, normalised_utility(sharp), strict=True)
    ]
    columns = ["setting", "cost ψ0", "A", "claimed", "printed", *proved, "utility (sharp, 0 to 1)"]
    print_table("The printed bound that the paper claims, and corrected ones", columns, rows)


def _as_facts(evaluation: BoundsResult) -> dict[str, object]:
    kinds = {name: {"form": entry.form, "average": entry.average} for name, entry in BOUNDS.items()}
    return {
        "name": evaluation.setting.title(),
        "setting": asdict(evaluation.setting),
        "local_updates": evaluation.plan.local_updates.tolist(),
        "total_updates": evaluation.plan.total_updates,
        "disagreement_left": float(evaluation.plan.disagreement_left),
        "average_weight": evaluation.average_weight,
        "overheads": evaluation.overheads,
        "needed_exchanges": float(needed_exchanges(evaluation.plan)),
        "resource_cost": evaluation.cost,
        "claimed": evaluation.claimed,
        "bounds": {name: {**kinds[name], **terms} for name, terms in evaluation.bounds.items()},
        **_best(evaluation),
    }


def _best(evaluation: BoundsResult) -> dict[str, float]:
    problem, plan = evaluation.problem, evaluation.plan
    with np.errstate(all="ignore"):
        return {
            "best_learning_rate": float(best_learning_rate(problem, plan)),
            "best_sync_period": float(best_sync_period(problem, plan)),
            "largest_sync_period": float(largest_sync_period(problem, plan)),
        }
