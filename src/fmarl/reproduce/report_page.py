"""The report of a reproduction: one page for a reader who has the paper open."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from fmarl.errors import BadInput
from fmarl.records.atomic_files import write_durably
from fmarl.report.mpl_style import Figure, figure_bytes
from fmarl.report.page import Block, Code, Details, Paragraph, Picture, Section, Table, page
from fmarl.report.statistics import RULE
from fmarl.reproduce import figures as drawings
from fmarl.reproduce import paper
from fmarl.reproduce.bound_runs import bound_section
from fmarl.reproduce.claims_section import claims_section, variants_section
from fmarl.reproduce.step_section import step_section
from fmarl.reproduce.study import VARIANTS
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.table4 import table_section

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
            *(_figure_section(name, figure) for name, figure in figures.items()),
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
        f"on SUMO by {runs} runs: {doubt}. Thin lines are single seeds, thick lines their mean. "
        f"{RULE}"
    )


def _figure_section(name: str, figure: Figure) -> Section:
    """A figure beside what the paper says about it."""
    title, _ = FIGURES[name]
    picture = Picture(figure, title, f"{title}: curves of the runs; claims are in the table above.")
    return Section(title, name, [Paragraph(["The paper: ", paper.STATEMENTS[name]]), picture])


def settings_section(evidence: Evidence, about: Mapping[str, Any]) -> Section:
    """Everything that someone needs to make this again."""
    study = evidence.study
    return Section(
        "How it was made",
        "settings",
        [
            Code(f"fmarl reproduce all --profile {study.profile} --variant {study.variant}"),
            _lengths(evidence),
            _choices(evidence),
            _variants(),
            _versions(about),
            *_failures(evidence),
            _hashes(evidence),
        ],
    )


def _lengths(evidence: Evidence) -> Table:
    length = evidence.study.length
    tests = f"every {length.test_every} epochs, {length.test_repetitions} epochs"
    rows = [
        ["Agents m", "7 (or 5)", "7 (or 5)"],
        ["Learning rate η", "1e-4", f"{evidence.study.choices.learning_rate:g}"],
        ["Length of an epoch T", "1500", str(paper.EPOCH_STEPS)],
        ["Epochs U", "500", f"{length.num_epochs} (Merge: {length.merge_epochs})"],
        ["Batch P", "250", str(paper.STEPS_PER_UPDATE)],
        ["Maximal local updates τ", "15", str(paper.SYNC_PERIOD)],
        ["Step of local interaction ε", "0.1", f"{paper.CONSENSUS_STEP:g}"],
        ["Discount γ", "0.9", f"{evidence.study.choices.discount:g}"],
        ["PPO's clipping, passes", "0.2, 4", "0.2, 4"],
        ["Tests", "every 10 epochs, 5 epochs", tests],
        ["Seeds", "not stated", f"{length.seeds}; Table IV {length.table_seeds}"],
    ]
    return Table(["setting", "Table III", "here"], rows, "The paper's settings, and ours.")


def _choices(evidence: Evidence) -> Table:
    rows = [
        [part.name, str(getattr(evidence.study.choices, part.name)), part.metadata["why"]]
        for part in fields(evidence.study.choices)
    ]
    return Table(["open setting", "here", "why"], rows, "What the paper leaves open.")


def _variants() -> Details:
    rows = [[f"--variant {word}", one.doubt] for word, one in VARIANTS.items()]
    table = Table(["flag", "the doubt it is there for"], rows, "Other choices that can be tried.")
    return Details("Variants: does a claim depend on a choice?", [table])


def _versions(about: Mapping[str, Any]) -> Table:
    rows = [["code", about.get("code", "–")], *about.get("versions", {}).items()]
    return Table(["what", "version"], rows, "What ran. Results of other code are never mixed in.")


def _failures(evidence: Evidence) -> list[Block]:
    failed = [result for result in evidence.results.values() if result.failed]
    if not failed:
        return [Paragraph("No run failed.")]
    rows = [[result.key, str(result.seed), result.failed] for result in failed]
    caption = "Runs that ended early. They count, with their last test to the end."
    return [Table(["run", "seed", "why"], rows, caption)]


def _hashes(evidence: Evidence) -> Details:
    rows = [
        [
            result.key,
            "{world} {algorithm} {together[method]}".format(**result.facts["experiment"]),
            f"{result.facts['experiment']['together']['learning_rate']:g}",
            str(result.seed),
            result.facts["metrics_sha256"][:16],
        ]
        for _, result in sorted(evidence.results.items())
    ]
    header = ["experiment", "method", "η", "seed", "sha256 of its metrics"]
    caption = "The experiment's hash names its settings; the other one is of all that it wrote."
    return Details(f"All {len(rows)} runs", [Table(header, rows, caption)])
