"""The paper's figures from runs: which curves go into which panel."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from fmarl.report.curves import Panel, Series, draw_panels
from fmarl.report.forest_plot import Effect, draw_forest
from fmarl.report.mpl_style import Figure
from fmarl.report.statistics import seed_band, seed_interval
from fmarl.reproduce import paper
from fmarl.reproduce.measures import LEARNING_EPOCHS, MEASURES, efficiency
from fmarl.reproduce.results import Result
from fmarl.reproduce.step_section import MEASURE, StepRow, step_rows
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.verdicts import Verdict

EPOCHS, NAS = "epochs of training", "NAS in tests"
MAGNIFIED_FROM = 0.6
"""Share of the run from which Fig. 7's second panel looks closer."""
APART = 0.01
"""Between points that would hide each other, in shares of full steps."""

Values = Callable[[Result], Float[np.ndarray, " test"]]


def figure_4(evidence: Evidence) -> Figure:
    """Independent and federated learning, and federation over slow links."""
    panel = _panel(evidence, "effect of federation", (paper.IRL, paper.TAU_1, paper.SYN, paper.ASY))
    panels = _and_beginnings(evidence, [panel])
    return draw_panels(panels, len(panels))


def figure_5(evidence: Evidence) -> Figure:
    """Two methods at several learning rates."""
    panels = [
        _panel(
            evidence,
            title,
            [paper.rated(name, rate) for rate in paper.RATES],
            [f"η = {rate:g}" for rate in paper.RATES],
        )
        for title, name in (
            ("(a) FIRL τ=1∼15", paper.TAU_1_15),
            ("(b) FIRL_D λ=0.92", paper.DECAY_92),
        )
    ]
    return draw_panels(panels, 2)


def figure_6(evidence: Evidence) -> Figure:
    """Local updates, decay and consensus on Figure Eight."""
    titles = {"a": "(a) local updates", "b": "(b) decay", "c": "(c) consensus"}
    panels = [
        _panel(evidence, titles[letter], names) for letter, names in paper.FIGURE_6_PANELS.items()
    ]
    return draw_panels(_and_beginnings(evidence, panels), 3)


def figure_6_merge(evidence: Evidence) -> Figure:
    """Three algorithms in Merge, without and with consensus."""
    panels = [
        _panel(
            evidence,
            f"({letter}) {word} in Merge",
            [f"Merge {word} FIRL", f"Merge {word} FIRL_C"],
            ["FIRL", "FIRL_C"],
            world="merge",
        )
        for letter, word in (("d", "PPO"), ("e", "TRPO"), ("f", "TAC"))
    ]
    return draw_panels(panels, 3)


def figure_7(evidence: Evidence) -> Figure:
    """NAS per unit of communication; the second panel is the end of the first, closer."""
    series = _series(evidence, paper.FIGURE_7_NAMES, paper.FIGURE_7_NAMES, _efficiency_after_start)
    label = "NAS per unit of communication"
    whole = Panel("(a) all epochs", series, EPOCHS, label, y_scale="log")
    last = evidence.study.length.num_epochs
    frequent = [one for one in series if "τ=1∼15" in one.label or "τ=15" in one.label]
    close = Panel("(b) magnified", frequent, EPOCHS, label, x_range=(MAGNIFIED_FROM * last, last))
    parts = [one.runs[:, one.x >= MAGNIFIED_FROM * last].ravel() for one in frequent]
    heights = _range(np.concatenate([np.array([]), *parts]))
    return draw_panels([whole, close._replace(y_range=heights)], 2)


def figure_steps(evidence: Evidence) -> Figure:
    """Mean NAS against the share of full steps that a method takes; both panels on one scale."""
    rows = step_rows(evidence)
    rate = f"{evidence.study.choices.learning_rate:g}"
    titles = {"fixed": f"(a) all at η = {rate}", "tuned": "(b) each at its best η"}
    everything = [getattr(row, part) for row in rows for part in titles]
    panels = [
        Panel(
            title,
            _points(rows, part),
            "share of full steps",
            MEASURES[MEASURE].label,
            y_range=_range(np.array(everything)),
        )
        for part, title in titles.items()
    ]
    return draw_panels(panels, 2)


def forest(verdicts: Sequence[Verdict], measure: str) -> Figure:
    """Effects of all comparisons by one measure."""
    effects = [
        Effect(f"{one.comparison.better} > {one.comparison.worse}", one.effect, one.word)
        for one in verdicts
    ]
    return draw_forest(effects, f"{MEASURES[measure].label}: difference, right is as claimed")


def _panel(
    evidence: Evidence,
    title: str,
    names: Sequence[str],
    labels: Sequence[str] | None = None,
    world: str = "figure-eight",
) -> Panel:
    """Curves of NAS, with what SUMO's own drivers reach."""
    series = _series(evidence, names, labels or names, lambda result: result.curve)
    reached = evidence.sumo(world)
    baseline = seed_interval(reached) if reached else None
    return Panel(title, series, EPOCHS, NAS, baseline, "all vehicles driven by SUMO")


def _and_beginnings(evidence: Evidence, panels: Sequence[Panel]) -> list[Panel]:
    """Panels, and after them the epochs of each in which methods differ, closer."""
    if evidence.study.length.num_epochs <= LEARNING_EPOCHS:
        return list(panels)
    beginning, title = (0, LEARNING_EPOCHS), f"to epoch {LEARNING_EPOCHS}"
    return [*panels, *(panel._replace(title=title, x_range=beginning) for panel in panels)]


def _series(
    evidence: Evidence, names: Sequence[str], labels: Sequence[str], values: Values
) -> list[Series]:
    """One series for each method that has runs."""
    series = []
    for name, label in zip(names, labels, strict=True):
        if runs := list(evidence.runs(name).values()):
            table = np.array([values(run) for run in runs])
            series.append(Series(label, runs[0].epochs, table, *seed_band(table)))
    return series


def _points(rows: Sequence[StepRow], part: str) -> list[Series]:
    """One series for each family of methods, a point for each method."""
    places = np.array(_apart([row.share for row in rows]))
    intervals = np.array([getattr(row, part) for row in rows])
    families = np.array([row.family for row in rows])
    series = []
    for family in dict.fromkeys(row.family for row in rows):
        means, lows, highs = intervals[families == family].T
        x = places[families == family]
        series.append(Series(family, x, means[None], lows, highs, is_joined=False))
    return series


def _apart(places: Sequence[float]) -> list[float]:
    """Places of which none is the same as one before it: what stands there would be hidden."""
    before = [list(places[:index]).count(place) for index, place in enumerate(places)]
    return [place + APART * count for place, count in zip(places, before, strict=True)]


def _efficiency_after_start(result: Result) -> Float[np.ndarray, " test"]:
    """Before anything is sent there is nothing to divide by."""
    ratio = efficiency(result)
    return np.where(np.isfinite(ratio), ratio, np.nan)


def _range(values: np.ndarray) -> tuple[float, float] | None:
    """From the lowest to the highest and a little further; None unless there are two values."""
    seen = values[np.isfinite(values)]
    if len(np.unique(seen)) < 2:  # a run may be too short to send anything, or alone
        return None
    low, high = float(seen.min()), float(seen.max())
    edge = 0.05 * (high - low)
    return low - edge, high + edge
