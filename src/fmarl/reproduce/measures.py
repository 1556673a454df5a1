"""How good a run is, in one number: every claim is about one of these."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from fmarl.report.run_scores import PRICES
from fmarl.report.statistics import area_under_curve, end_of_curve, time_to_level
from fmarl.reproduce.results import Result

LEARNING_EPOCHS = 100
"""Then most methods have levelled off, and 400 more equal epochs would only hide how they differ.
(Until most runs of Fig. 4 were seen, and no others, this was the whole run.)"""
EARLY_EPOCHS = 50
"""Those in which Fig. 7's curves start. (Until runs at each method's own best η were there, which
are shorter, it was a tenth of the run: 50 of 500 as well.)"""
LEAST = 1e-12
"""Stands for zero under a logarithm."""


class Measure(NamedTuple):
    """A number that a run is judged by."""

    label: str
    score: Callable[[Result, float], float]
    """From a run, and the NAS that SUMO's own drivers reach, to the number."""
    sign: int
    """1 if more is better, −1 if less is."""
    negligible: float
    """Differences smaller than this are of no interest to anyone; fixed before the runs."""


def final(result: Result, level: float) -> float:
    """NAS at the end: mean of the last tenth of the tests."""
    return end_of_curve(result.curve.tolist())


def area(result: Result, level: float) -> float:
    """Mean height of the curve of NAS while there is something to learn: speed and level in one."""
    early = result.epochs <= LEARNING_EPOCHS
    return area_under_curve(result.epochs[early].tolist(), result.curve[early].tolist())


def epochs_to_sumo(result: Result, level: float) -> float:
    """First test at which the agents drive as fast as SUMO; the end and a test more if never."""
    reached = time_to_level(result.epochs.tolist(), result.curve.tolist(), level)
    return reached if math.isfinite(reached) else float(2 * result.epochs[-1] - result.epochs[-2])


def log_gradient_norm(result: Result, level: float) -> float:
    """Logarithm of the expected gradient norm, so that differences are ratios."""
    norm = result.measured.gradient_norm if result.measured else math.nan
    return math.log(norm) if norm > 0 else math.nan


def utility(result: Result, level: float) -> float:
    """Error removed per unit of cost, (ψ2 − ψ1)/ψ0, neither normalised nor cut at zero."""
    if result.measured is None:
        return math.nan
    found = result.measured
    return (found.initial_gradient_norm - found.gradient_norm) / found.cost


def unrest(result: Result, level: float) -> float:
    """How far NAS jumps from test to test in the second half of a run."""
    half = result.curve[len(result.curve) // 2 :]
    return float(np.abs(np.diff(half)).mean()) if len(half) > 1 else math.nan


def early_efficiency(result: Result, level: float) -> float:
    """NAS per unit of communication (Fig. 7) at the first tests, as a logarithm."""
    ratio = efficiency(result)
    early = (result.epochs > 0) & (result.epochs <= EARLY_EPOCHS)
    return float(np.log(np.maximum(ratio[early], LEAST)).mean()) if early.any() else math.nan


def efficiency(result: Result) -> np.ndarray:
    """NAS per unit of communication at every test; infinite before anything was sent."""
    cost = result.uploads * PRICES.upload_cost + result.exchanges * PRICES.exchange_cost
    with np.errstate(divide="ignore"):
        return result.curve / cost


def margin_of_the_bound(result: Result, level: float) -> float:
    """Logarithm of corrected bound over measured norm; not a number where nothing is proved."""
    found = result.facts.get("bound")
    if not found or not found["is_proved"]:
        return math.nan
    return math.log(found["corrected"] / found["gradient_norm"])


MEASURES: Mapping[str, Measure] = {
    "final": Measure("NAS at the end", final, 1, 0.005),
    "area": Measure("mean NAS to epoch 100", area, 1, 0.005),
    "epochs": Measure("epochs until SUMO's NAS", epochs_to_sumo, -1, 5.0),
    "norm": Measure("log of the gradient norm", log_gradient_norm, -1, 0.05),
    "utility": Measure("utility", utility, 1, 1e-4),
    "unrest": Measure("jumps of NAS between tests", unrest, -1, 0.001),
    "efficiency": Measure("log of early NAS per communication", early_efficiency, 1, 0.02),
    "bound": Measure("log of bound over measured norm", margin_of_the_bound, 1, 0.001),
}
"""Every way in which runs are compared. Differences of logarithms are ratios: 0.05 is 5 %."""
