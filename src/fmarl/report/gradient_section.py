"""The part of a report on runs about the gradient: what was measured, and what is proved of it."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fmarl.report.format import listed, mean_number, number, with_interval
from fmarl.report.group_scores import GroupScores
from fmarl.report.mpl_style import Figure
from fmarl.report.page import Block, Paragraph, Picture, Section, Table, table_of
from fmarl.report.run_figures import Bounds, bounds_of, norms_of
from fmarl.report.run_set import Group

NOT_MEASURED = (
    "No run was measured on samples, so ‖∇F(θ̄)‖² is not known. A run that is trained with "
    "--samples RUN measures it on what RUN kept, after every averaging."
)
ABOUT = (
    "‖∇F(θ̄)‖² is the squared norm of the gradient at the average of all agents, on samples that "
    "stay the same. Its running mean, from the start on, is what the theory bounds: error that is "
    "left. L, σ² and the way down are estimated from each run itself, so the bound tests the "
    "theory and forecasts nothing."
)


def measured_groups(groups: Sequence[Group]) -> list[Group]:
    """Those of which some run was measured."""
    return [group for group in groups if any(norms_of(run) for run in group.runs)]


def gradient_section(
    scores: Sequence[GroupScores], bounds: Bounds, figure: Figure | None
) -> Section:
    """Measured norms, ψ1, ψ2 and utility, and bounds where the theory speaks."""
    title, anchor = "Gradient norm and bounds", "gradient"
    if figure is None:
        return Section(title, anchor, [Paragraph(NOT_MEASURED)])
    known = {group.label for group in measured_groups([row.group for row in scores])}
    found = [row for row in scores if row.group.label in known]
    groups = [row.group for row in found]
    words = "Measured gradient norms against updates, one panel per method; numbers are below."
    caption = "Measured norms, their running mean and, where the theory speaks of it, its bound."
    about = f"{ABOUT} Measured on the samples of {listed(_sources(groups))}."
    blocks = [Paragraph(about), Picture(figure, caption, words), _worth(found)]
    return Section(title, anchor, [*blocks, *_bounded(groups, bounds), *_unbounded(groups, bounds)])


def _sources(groups: Sequence[Group]) -> list[str]:
    """The runs whose samples were used."""
    paths = [run.settings.get("samples", "") for group in groups for run in group.runs]
    return list(dict.fromkeys(Path(path).name for path in paths if path))


def _worth(scores: Sequence[GroupScores]) -> Table:
    columns: dict[str, Callable[[GroupScores], str]] = {
        "method": lambda row: row.group.label,
        "ψ2 at the start": lambda row: with_interval(row.initial_gradient_norm),
        "ψ1 on average": lambda row: with_interval(row.gradient_norm),
        "cost ψ0": lambda row: number(row.cost.value, 4),
        "utility": lambda row: with_interval(row.utility),
    }
    caption = (
        "Utility is error removed per unit of cost, (ψ2 − ψ1)/ψ0, the paper’s Eq. (13): only "
        "within one set of samples can it be compared, and who sends nothing pays for its own "
        "updates alone. ψ1 is the mean over the averages after the start."
    )
    return table_of(columns, scores, caption, "lrrrr")


def _bounded(groups: Sequence[Group], bounds: Bounds) -> list[Block]:
    curves = {group.label: found for group in groups if (found := bounds_of(group, bounds))}
    if not curves:
        return []
    columns: dict[str, Callable[[str], str]] = {
        "method": lambda label: label,
        "L": lambda label: mean_number([one.smoothness for one in curves[label]]),
        "σ²": lambda label: mean_number([one.gradient_noise for one in curves[label]]),
        "mean at the end": lambda label: mean_number(
            [float(one.means[-1]) for one in curves[label]]
        ),
        "corrected bound": lambda label: mean_number(
            [float(one.values[-1]) for one in curves[label]]
        ),
        "η proved": lambda label: _share([one.is_proved for one in curves[label]]),
        "never above": lambda label: _share([one.holds for one in curves[label]]),
    }
    caption = (
        "Means over seeds. “η proved”: runs whose learning rate is small enough for the proof; "
        "“never above”: runs whose running mean stayed at or below the bound all the way."
    )
    return [table_of(columns, curves, caption, "lrrrrll")]


def _share(holds: Sequence[bool]) -> str:
    return f"{sum(holds)} of {len(holds)}"


def _unbounded(groups: Sequence[Group], bounds: Bounds) -> list[Block]:
    """One line for each reason, and for whom."""
    reasons: dict[str, list[str]] = {}
    for group in groups:
        for run in group.runs:
            why = bounds.get(run.name, "")
            if isinstance(why, str) and why and group.label not in reasons.setdefault(why, []):
                reasons[why].append(group.label)
    return [
        Paragraph(f"No bound for {', '.join(labels)}. {why}") for why, labels in reasons.items()
    ]
