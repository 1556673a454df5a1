"""The part of the report that says whether claims depend on what the paper leaves open."""

from collections.abc import Mapping

from fmarl.report.page import Paragraph, Section, Table, Text
from fmarl.reproduce.choices import VARIANTS
from fmarl.reproduce.claims import CLAIMS, Claim
from fmarl.reproduce.claims_section import decision
from fmarl.reproduce.evidence import Evidence

ABOUT = (
    "Claims that were decided again with other choices, at one η for all methods (claim 15 aside). "
    "These runs may have fewer epochs than those above, and other code made them; each column "
    "compares its own runs with each other."
)


def variants_section(evidence: Evidence, others: Mapping[str, Evidence]) -> Section:
    """Verdicts beside each other: of these runs, and of others by the name of their folder."""
    columns = {evidence.study.name: evidence, **others}
    decided = [claim for claim in CLAIMS if _is_decided(claim, others)]
    rows = [[f"{claim.number}. {claim.says}", *_verdicts(claim, columns)] for claim in decided]
    doubts = [[name, _doubt(one), f"{len(one.results)}"] for name, one in others.items()]
    return Section(
        "Do claims depend on our choices?",
        "variants",
        [
            Paragraph(ABOUT),
            Table(["results", "the doubt", "runs"], doubts, "What they are there for.", "llr"),
            Table(["The paper says", *columns], rows, "Verdicts at one η, choice by choice."),
        ],
    )


def _is_decided(claim: Claim, others: Mapping[str, Evidence]) -> bool:
    """Whether anything but the first column has runs for it."""
    return any(verdict.seeds for one in others.values() for verdict in one.verdicts(claim))


def _verdicts(claim: Claim, columns: Mapping[str, Evidence]) -> list[Text]:
    return [decision(one.verdicts(claim)) for one in columns.values()]


def _doubt(evidence: Evidence) -> str:
    return VARIANTS[evidence.study.variant].doubt
