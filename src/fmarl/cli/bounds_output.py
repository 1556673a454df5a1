"""How `fmarl bounds` shows its answers: tables, JSON and plots."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from fmarl.cli.bounds_setting import Axis, Setting, axis_values, vary
from fmarl.cli.output import print_json, print_lines, print_table, print_text
from fmarl.errors import BadInput
from fmarl.reproduce.table4 import RecomputedRow, recompute_table
from fmarl.theory import Plan, Problem, needed_exchanges, normalised_utility, resource_cost
from fmarl.theory import corrected_bounds as corrected
from fmarl.theory.catalogue import BOUNDS, BoundsResult, claimed_bound, evaluate_bounds
from fmarl.theory.exact_quadratic import exact_gradient_norms, weighted_average
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

PAPER_TABLE = ("method", "setting", "uploads", "updates", "exchanges", "cost ψ0")
PAPER_TABLE += ("norm (paper)", "utility", "utility (paper)", "agrees")
LEAST_OF_PAPER = ("updates", "exchanges", "uploads", "norm (paper)", "cost ψ0", "utility (paper)")
"""Columns of the paper's table that a narrow terminal does without, the first of them first."""
LEAST_OF_TERMS = ("average over", "form", "largest η", "distance", "noise", "drift")
"""The same for the bounds of one setting."""

AXES: dict[Axis, str] = {
    "sync_period": "sync period τ",
    "decay_rate": "decay rate λ",
    "consensus_rounds": "consensus rounds E",
    "consensus_step": "consensus step ε",
    "num_agents": "number of agents m",
}

TRUTH_METHODS = {
    "FIRL τ=1": Setting(sync_period=1),
    "FIRL τ=15": Setting(),
    "FIRL one fast, six slow": Setting(local_updates="15,3,3,3,3,3,3"),
    "FIRL_D λ=0.92": Setting(local_updates="15,3,3,3,3,3,3", decay_rate=0.92),
    "FIRL_C 13 edges": Setting(graph="paper-13"),
    "FIRL_C ring, Chebyshev E=2": Setting(graph="ring", weights="chebyshev", consensus_rounds=2),
}
"""The paper's methods, and one that is ours: fewer links, better mixed."""
TRUTH_DRAWN = ("FIRL τ=15", "FIRL one fast, six slow", "FIRL_D λ=0.92")
TRUTH_RUN = {"learning_rate": 0.02, "total_updates": 6000}
QUADRATIC = Problem(smoothness=1.0, gradient_noise=0.02, initial_gap=0.5, initial_gradient_norm=1.0)
"""A quadratic loss, where the truth can be computed without sampling."""

Norms = Float[np.ndarray, " update"]


def show_one(setting: Setting, result: BoundsResult) -> None:
    """Print every bound of one setting, its cost, and better choices."""
    plan, count = result.plan, result.overheads
    title = f"{setting.title()}: bounds on the squared gradient norm"
    columns = ["bound", "form", *TERMS.values(), "average over"]
    rows = [_bound_row(result, name) for name in BOUNDS]
    print_table(title, columns, rows, least=LEAST_OF_TERMS)
    low = ", below 1/2: the printed bound can fail" if result.average_weight < 0.5 else ""
    print_text(
        f"agents m = {plan.num_agents}, updates K = {plan.total_updates}, "
        f"τ_i = {', '.join(map(str, plan.local_updates))}",
        f"cost ψ0 = {result.cost:g}: {count['uploads']:g} uploads, "
        f"{count['updates']:g} updates, {count['exchanges']:g} exchanges",
        f"average weight of a step A = {result.average_weight:.4g}{low}",
        f"disagreement left after mixing = {float(plan.disagreement_left):.4g}",
        *(f"{name.replace('_', ' ')} = {value:.4g}" for name, value in _best(result).items()),
        f"* the bound that the paper claims for this method: {result.claimed}",
    )


def show_many(titles: Sequence[str], results: Sequence[BoundsResult]) -> None:
    """Print a row for each of several settings."""
    sharp = np.array([result.bounds["sharp"]["utility"] for result in results])
    proved = ("sharp", "synchronised", "normalised")
    rows = [
        [
            title,
            result.cost,
            result.average_weight,
            result.claimed,
            *(result.bounds[name]["total"] for name in (result.claimed, *proved)),
            float(worth),
        ]
        for title, result, worth in zip(titles, results, normalised_utility(sharp), strict=True)
    ]
    columns = ["setting", "cost ψ0", "A", "claimed", "printed", *proved, "utility (sharp, 0 to 1)"]
    title = "The printed bound that the paper claims, and corrected ones"
    print_table(title, columns, rows, least=("claimed", "A", "cost ψ0", "normalised", "printed"))


def to_facts(setting: Setting, result: BoundsResult) -> dict[str, object]:
    """Everything that is known about one setting, for JSON."""
    kinds = {name: {"form": entry.form, "average": entry.average} for name, entry in BOUNDS.items()}
    return {
        "name": setting.title(),
        "setting": asdict(setting),
        "local_updates": result.plan.local_updates.tolist(),
        "total_updates": result.plan.total_updates,
        "disagreement_left": float(result.plan.disagreement_left),
        "average_weight": result.average_weight,
        "overheads": result.overheads,
        "needed_exchanges": float(needed_exchanges(result.plan)),
        "resource_cost": result.cost,
        "claimed": result.claimed,
        "bounds": {name: {**kinds[name], **terms} for name, terms in result.bounds.items()},
        **_best(result),
    }


def show_citations() -> None:
    """Print which function executes which equation."""
    from fmarl.report.citations import EQUATIONS, collect_citations

    found = collect_citations(("theory", "topology"))
    for number, title in EQUATIONS.items():
        names = [citation.name for citation in found if number in citation.equations]
        if names:
            print_text(f"Eq. ({number}), {title}: {', '.join(names)}")


def show_paper_table(*, as_json: bool) -> int:
    """Print Table IV beside what our formulas give; exit code 1 unless every row agrees."""
    rows = recompute_table()
    agreeing = sum(row.agrees for row in rows)
    if as_json:
        print_json([_paper_facts(row) for row in rows])
    else:
        title = "Table IV, recomputed from its own inputs"
        print_table(title, PAPER_TABLE, [_paper_row(row) for row in rows], least=LEAST_OF_PAPER)
        print_text(f"{agreeing} of {len(rows)} rows agree with the paper in overheads and utility")
    return 0 if agreeing == len(rows) else 1


def draw_against(setting: Setting, axis: Axis, path: Path) -> None:
    """Draw the bounds of a setting against one of its numbers."""
    from fmarl.report.figures import PlotCurve, draw_sweep, save_figure

    points = _points(setting, axis)
    results = list(points.values())
    totals = {name: [one.bounds[name]["total"] for one in results] for name in BOUNDS}
    claimed = [one.bounds[one.claimed]["total"] for one in results]
    figure = draw_sweep(
        list(points),
        [
            PlotCurve("printed (claimed by the paper)", claimed, "printed"),
            PlotCurve("corrected, simple", totals["weighted"], "simple"),
            PlotCurve("corrected, sharp", totals["sharp"], "sharp"),
        ],
        title=f"{setting.title()}: bound on the squared gradient norm",
        label=AXES[axis],
        here=getattr(setting, axis),
        infeasible_from=setting.initial_gradient_norm,
        admissible=[bool(one.plan.learning_rate <= one.largest_learning_rate) for one in results],
    )
    save_figure(figure, path)


def show_truth(picture: Path | None) -> int:
    """Print bounds beside the exact truth on a quadratic loss, and draw it if that is wanted."""
    plans = {name: replace(setting.plan(), **TRUTH_RUN) for name, setting in TRUTH_METHODS.items()}
    norms = {name: exact_gradient_norms(QUADRATIC, plan) for name, plan in plans.items()}
    columns = ["method", "cost ψ0"]
    columns += ["printed bound", "truth", "holds", "corrected bound", "truth", "holds"]
    rows = [[name, *_truth_row(plan, norms[name])] for name, plan in plans.items()]
    title = "Average squared gradient norm on a quadratic loss, exactly"
    print_table(title, columns, rows, least=("cost ψ0",))
    print_text(
        "The printed bounds count masked and decayed steps as full ones; the corrected do not."
    )
    if picture is not None:
        _draw_truth({name: (plans[name], norms[name]) for name in TRUTH_DRAWN}, picture)
        print_lines(f"Picture: {picture}")
    return 0


def _bound_row(result: BoundsResult, name: str) -> list[object]:
    numbers, entry = result.bounds[name], BOUNDS[name]
    mark = " *" if name == result.claimed else ""
    return [name + mark, entry.form, *(numbers[key] for key in TERMS), entry.average]


def _best(result: BoundsResult) -> dict[str, float]:
    functions = (best_learning_rate, best_sync_period, largest_sync_period)
    with np.errstate(all="ignore"):
        return {each.__name__: float(each(result.problem, result.plan)) for each in functions}


def _paper_row(row: RecomputedRow) -> list[object]:
    counted, printed = row.counted, row.row
    return [
        printed.method,
        printed.label,
        *(f"{count:g}" for count in (counted.uploads, counted.updates, counted.exchanges)),
        f"{row.cost:.2f}",
        f"{printed.gradient_norm:.4f}",
        f"{row.utility:.4f}",
        f"{printed.utility:.4f}",
        row.agrees,
    ]


def _paper_facts(row: RecomputedRow) -> dict[str, object]:
    counted = {name: float(count) for name, count in row.counted._asdict().items()}
    recomputed = {"overheads": counted, "resource_cost": row.cost, "utility": row.utility}
    return {"paper": row.row._asdict(), "recomputed": recomputed, "agrees": row.agrees}


def _points(setting: Setting, axis: Axis) -> dict[int | float, BoundsResult]:
    """The setting at every value that its graph allows; the setting itself is always allowed."""
    found = {}
    for value in axis_values(setting, axis):
        varied = vary(setting, axis, value)
        try:
            found[value] = evaluate_bounds(varied.problem(), varied.plan())
        except BadInput:
            if axis != "num_agents":  # a nearest:4 graph needs five agents, a regular one parity
                raise
    return found


def _truth_row(plan: Plan, norms: Norms) -> list[object]:
    claimed = float(BOUNDS[claimed_bound(plan)].bound(QUADRATIC, plan).total)
    proved = float(corrected.sharp_bound(QUADRATIC, plan).total)
    plain, weighted = float(norms.mean()), float(weighted_average(norms, plan))
    cost = resource_cost(QUADRATIC, plan)
    return [cost, claimed, plain, plain <= claimed, proved, weighted, weighted <= proved]


def _draw_truth(methods: dict[str, tuple[Plan, Norms]], path: Path) -> None:
    from fmarl.report.figures import PlotCurve, draw_measured, save_figure

    longest = TRUTH_RUN["total_updates"]
    lengths = np.unique(np.geomspace(15, longest, 60).astype(int) // 15 * 15).tolist()
    panels = []
    for name, (plan, norms) in methods.items():
        plans = [replace(plan, total_updates=length) for length in lengths]
        proved = [corrected.sharp_bound(QUADRATIC, one).total for one in plans]
        weighted = [weighted_average(norms[:length], plan) for length in lengths]
        plain = [norms[:length].mean() for length in lengths]
        claimed = [BOUNDS[claimed_bound(plan)].bound(QUADRATIC, one).total for one in plans]
        curves = [
            PlotCurve("corrected bound", proved, "sharp"),
            PlotCurve("truth, weighted as proved", weighted, "weighted"),
            PlotCurve("truth, plain average", plain, "measured"),
            PlotCurve("printed bound", claimed, "printed"),
        ]
        panels.append((name, curves))
    save_figure(draw_measured(panels, updates=lengths), path)
