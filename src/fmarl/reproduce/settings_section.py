"""The part of the report that says how it was made: settings, choices, versions, hashes."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from fmarl.report.page import Block, Code, Details, Paragraph, Section, Table
from fmarl.reproduce import paper
from fmarl.reproduce.open_choices import VARIANTS
from fmarl.reproduce.results import Result
from fmarl.reproduce.study_results import Evidence


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
        ["Tests", "every 10 epochs, 5 epochs", _tests(length.test_every, length.test_repetitions)],
        ["Seeds", "not stated", f"{length.seeds}; Table IV {length.table_seeds}"],
    ]
    return Table(["setting", "Table III", "here"], rows, "The paper's settings, and ours.")


def _tests(every: int, repetitions: int) -> str:
    return f"every {every} epochs, {repetitions} epochs"


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
    failed = evidence.failed()
    if not failed:
        return [Paragraph("No run failed.")]
    rows = [[result.key, str(result.seed), result.failed] for result in failed]
    caption = "Runs that ended early. They count, with their last test to the end."
    return [Table(["run", "seed", "why"], rows, caption)]


def _hashes(evidence: Evidence) -> Details:
    rows = [_hash_row(result) for _, result in sorted(evidence.results.items())]
    header = ["experiment", "method", "η", "seed", "sha256 of its metrics"]
    caption = "The experiment's hash names its settings; the other one is of all that it wrote."
    return Details(f"All {len(rows)} runs", [Table(header, rows, caption)])


def _hash_row(result: Result) -> list[str]:
    experiment = result.facts["experiment"]
    together = experiment["together"]
    return [
        result.key,
        f"{experiment['world']} {experiment['algorithm']} {together['method']}",
        f"{together['learning_rate']:g}",
        str(result.seed),
        result.facts["metrics_sha256"][:16],
    ]
