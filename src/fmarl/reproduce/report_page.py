"""The report of a reproduction: one page for a reader who has the paper open."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fmarl.errors import BadInput
from fmarl.records.atomic_files import write_durably
from fmarl.report.mpl_style import Figure, figure_bytes
from fmarl.report.page import Block, Paragraph, Picture, Section, page
from fmarl.reproduce import figures as drawings
from fmarl.reproduce import paper
from fmarl.reproduce.bound_section import bound_section
from fmarl.reproduce.claims_section import claims_section
from fmarl.reproduce.open_choices import VARIANTS
from fmarl.reproduce.settings_section import settings_section
from fmarl.reproduce.step_section import step_section
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.table_section import table_section
from fmarl.reproduce.variants_section import variants_section

FIGURES: dict[str, tuple[str, Callable[[Evidence], Figure]]] = {
    "fig4": ("Fig. 4: effectiveness of federated learning", drawings.figure_4),
    "fig5": ("Fig. 5: learning rates", drawings.figure_5),
    "fig6": ("Fig. 6 a–c: local updates, decay, consensus", drawings.figure_6),
    "fig6-merge": ("Fig. 6 d–f: three algorithms in Merge", drawings.figure_6_merge),
    "fig7": ("Fig. 7: NAS per unit of communication", drawings.figure_7),
}
"""Every figure of the paper by its name, with its title and who draws it."""
STEPS = "steps"
"""The name of a figure that the paper does not have."""


def write_report(
    evidence: Evidence,
    about: Mapping[str, Any],
    folder: Path,
    others: Mapping[str, Evidence] | None = None,
) -> Path:
    """Write report.html, and every figure as PNG and PDF; the same results give the same bytes.

    Others, by name, are results of other choices: only their verdicts are shown.
    """
    figures = {name: draw(evidence) for name, (_, draw) in FIGURES.items()}
    steps = drawings.figure_steps(evidence)
    text = page(
        f"Reproduction of arXiv:2103.13026: {evidence.study.name}",
        _lead(evidence),
        [
            claims_section(evidence),
            *([variants_section(evidence, others)] if others else []),
            table_section(evidence),
            *(_figure_section(name, figure, evidence) for name, figure in figures.items()),
            step_section(evidence, steps),
            bound_section(evidence),
            settings_section(evidence, about),
        ],
        "Made by fmarl. All numbers come from the runs listed here; nothing was left out.",
    )
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder} can not be made: {error.strerror}. Choose another.") from None
    for name, figure in {**figures, STEPS: steps}.items():
        for kind in ("png", "pdf"):
            write_durably(folder / "figures" / f"{name}.{kind}", figure_bytes(figure, kind))
    write_durably(folder / "report.html", text.encode())
    return folder / "report.html"


def _lead(evidence: Evidence) -> str:
    runs, doubt = len(evidence.results), VARIANTS[evidence.study.variant].doubt
    return (
        f"Every figure and table of “The Gradient Convergence Bound of Federated Multi-Agent "
        f"Reinforcement Learning with Efficient Communication” (Xu, Li, Zhao and Zhang) made again "
        f"on SUMO by {runs} runs: {doubt}. Thin lines are single seeds, thick lines their mean, "
        "bands the 95 % interval of the mean."
    )


def _figure_section(name: str, figure: Figure, evidence: Evidence) -> Section:
    """A figure beside what the paper says about it."""
    title, _ = FIGURES[name]
    picture = Picture(figure, title, f"{title}: curves of the runs; claims are in the table above.")
    said: list[Block] = [Paragraph(["The paper: ", paper.STATEMENTS[name]])]
    return Section(title, name, [*said, picture])
