"""`fmarl bounds --truth`: what is promised, held against what is true, in a few seconds."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from fmarl.cli.bounds_setting import Setting
from fmarl.cli.output import print_lines, print_table
from fmarl.theory import Plan, Problem, resource_cost
from fmarl.theory import corrected_bounds as corrected
from fmarl.theory.catalogue import BOUNDS, claimed_bound
from fmarl.theory.exact_quadratic import exact_gradient_norms, weighted_average

METHODS = {
    "FIRL τ=1": Setting(sync_period=1),
    "FIRL τ=15": Setting(),
    "FIRL one fast, six slow": Setting(local_updates="15,3,3,3,3,3,3"),
    "FIRL_D λ=0.92": Setting(local_updates="15,3,3,3,3,3,3", decay_rate=0.92),
    "FIRL_C 13 edges": Setting(graph="paper-13"),
    "FIRL_C ring, Chebyshev E=2": Setting(graph="ring", weights="chebyshev", consensus_rounds=2),
}
"""The paper's methods, and one that is ours: fewer links, better mixed."""

DRAWN = ("FIRL τ=15", "FIRL one fast, six slow", "FIRL_D λ=0.92")

PROBLEM = Problem(smoothness=1.0, gradient_noise=0.02, initial_gap=0.5, initial_gradient_norm=1.0)
"""A quadratic loss, where the truth can be computed without sampling."""
LEARNING_RATE = 0.02
TOTAL_UPDATES = 6000


def show_truth(picture: Path | None) -> int:
    """Compute, print the table, and draw the picture if one is wanted."""
    plans = {name: _plan(setting) for name, setting in METHODS.items()}
    norms = {name: exact_gradient_norms(PROBLEM, plan) for name, plan in plans.items()}
    columns = [
        "method",
        "cost ψ0",
        "printed bound",
        "truth",
        "holds",
        "corrected bound",
        "truth",
        "holds",
    ]
    rows = [[name, *_row(plan, norms[name])] for name, plan in plans.items()]
    print_table("Average squared gradient norm on a quadratic loss, exactly", columns, rows)
    print_lines(
        "The printed bounds count masked and decayed steps as full ones; the corrected do not."
    )
    if picture is not None:
        _draw({name: (plans[name], norms[name]) for name in DRAWN}, picture)
        print_lines(f"Picture: {picture}")
    return 0


def _plan(setting: Setting) -> Plan:
    return replace(setting.plan(), learning_rate=LEARNING_RATE, total_updates=TOTAL_UPDATES)


def _row(plan: Plan, norms: Float[np.ndarray, " update"]) -> list[object]:
    claimed = float(BOUNDS[claimed_bound(plan)].bound(PROBLEM, plan).total)
    proved = float(corrected.sharp_bound(PROBLEM, plan).total)
    plain, weighted = float(norms.mean()), float(weighted_average(norms, plan))
    return [
        resource_cost(PROBLEM, plan),
        claimed,
        plain,
        plain <= claimed,
        proved,
        weighted,
        weighted <= proved,
    ]


def _draw(methods: dict[str, tuple[Plan, Float[np.ndarray, " update"]]], path: Path) -> None:
    from fmarl.report.figures import draw_measured, save_figure

    lengths = np.unique(np.geomspace(15, TOTAL_UPDATES, 60).astype(int) // 15 * 15)
    panels = [(name, _curves(plan, norms, lengths)) for name, (plan, norms) in methods.items()]
    save_figure(draw_measured(panels, updates=lengths.tolist()), path)


def _curves(plan: Plan, norms: Float[np.ndarray, " update"], lengths: np.ndarray) -> list:
    from fmarl.report.figures import Curve

    plans = [replace(plan, total_updates=int(length)) for length in lengths]
    claimed = BOUNDS[claimed_bound(plan)].bound
    return [
        Curve("corrected bound", [corrected.sharp_bound(PROBLEM, p).total for p in plans], "sharp"),
        Curve(
            "truth, weighted as proved",
            [weighted_average(norms[:n], plan) for n in lengths],
            "weighted",
        ),
        Curve("truth, plain average", [norms[:n].mean() for n in lengths], "measured"),
        Curve("printed bound", [claimed(PROBLEM, p).total for p in plans], "printed"),
    ]
