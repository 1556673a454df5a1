"""The part of the report that says whether claims depend on what the paper leaves open."""

from collections.abc import Mapping, Sequence

from fmarl.report.format import NOTHING, number, with_interval
from fmarl.report.page import Paragraph, Section, Table, Text
from fmarl.reproduce.claims import CLAIMS, Claim
from fmarl.reproduce.claims_section import decision
from fmarl.reproduce.measured_steps import StepRow, line_through, step_rows
from fmarl.reproduce.open_choices import VARIANTS
from fmarl.reproduce.study_results import Evidence

ABOUT = (
    "Claims that were decided again with other choices, at one η for all methods (claim 15 aside). "
    "These runs may have fewer epochs than those above, and other code made them; each column "
    "compares its own runs with each other."
)
DOUBTS = "What they are there for, and what to add to “fmarl reproduce table4” to make them again."
AREAS = (
    "Mean NAS to epoch 100, choice by choice. [95 % intervals over seeds] The last line has what a "
    "tenth of a step more brings, by a straight line through the methods, and their correlation "
    "with it."
)


def variants_section(evidence: Evidence, others: Mapping[str, Evidence]) -> Section:
    """Verdicts beside each other: of these runs, and of others by the name of their folder."""
    columns = {evidence.study.name: evidence, **others}
    decided = [claim for claim in CLAIMS if _is_decided(claim, others)]
    rows = [[f"{claim.number}. {claim.says}", *_verdicts(claim, columns)] for claim in decided]
    found = {name: step_rows(one) for name, one in columns.items()}
    doubts = [_doubt(name, one) for name, one in others.items()]
    return Section(
        "Do claims depend on our choices?",
        "variants",
        [
            Paragraph(ABOUT),
            Table(["results", "the doubt", "made with", "runs"], doubts, DOUBTS, "lllr"),
            Table(["The paper says", *columns], rows, "Verdicts at one η, choice by choice."),
            Table(["method", *columns], area_rows(found), AREAS, "l" + "r" * len(columns)),
        ],
    )


def _is_decided(claim: Claim, others: Mapping[str, Evidence]) -> bool:
    """Whether anything but the first column has runs for it."""
    return any(verdict.seeds for one in others.values() for verdict in one.verdicts(claim))


def _verdicts(claim: Claim, columns: Mapping[str, Evidence]) -> list[Text]:
    return [decision(one.verdicts(claim)) for one in columns.values()]


def _doubt(name: str, evidence: Evidence) -> list[Text]:
    study = evidence.study
    made_with = f"--profile {study.profile} --variant {study.variant}"
    return [name, VARIANTS[study.variant].doubt, made_with, f"{len(evidence.results)}"]


def area_rows(found: Mapping[str, Sequence[StepRow]]) -> list[list[Text]]:
    """How well every method learns under each column's choices, and what longer steps bring it."""
    names = dict.fromkeys(row.name for rows in found.values() for row in rows)
    scores = [{row.name: with_interval(row.fixed) for row in rows} for rows in found.values()]
    return [
        *([name, *(one.get(name, NOTHING) for one in scores)] for name in names),
        ["a tenth of a step", *map(_rise, found.values())],
    ]


def _rise(rows: Sequence[StepRow]) -> str:
    line = line_through([row.share for row in rows], [row.fixed for row in rows])
    slope, correlation = round(line.slope / 10, 4), round(line.correlation, 2)
    return f"{number(slope, 2)} ({number(correlation, 2)})"
