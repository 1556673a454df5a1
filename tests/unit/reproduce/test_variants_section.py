"""Verdicts with other choices, beside those of the study that is reported on."""

from fmarl.report.page import Section, Table, Text
from fmarl.report.page import Verdict as Badge
from fmarl.reproduce.evidence import Evidence
from fmarl.reproduce.methods import DECAY_92, DECAY_95, DECAY_98, TAU_1, TAU_1_15, TAU_10, TAU_15
from fmarl.reproduce.variants_section import variants_section
from unit.reproduce.made_up import few_methods

ORDER = (TAU_1, TAU_10, TAU_15)
FALLING = few_methods({name: 0.3 - 0.1 * place for place, name in enumerate(ORDER)})
RISING = few_methods({name: 0.1 + 0.1 * place for place, name in enumerate(ORDER)})


def _tables(section: Section) -> list[Table]:
    return [block for block in section.blocks if isinstance(block, Table)]


def _words(evidence: Evidence, **others: Evidence) -> dict[str, list[str]]:
    """Verdicts by the number of their claim."""
    _, table = _tables(variants_section(evidence, others))
    return {str(row[0]).split(".")[0]: [_word(cell) for cell in row[1:]] for row in table.rows}


def _word(cell: Text) -> str:
    return (
        cell if isinstance(cell, str) else next(one.word for one in cell if isinstance(one, Badge))
    )


def test_each_study_has_the_verdict_of_its_own_runs():
    assert _words(FALLING, other=RISING)["3"] == ["supported", "not supported"]
    assert _words(RISING, other=FALLING)["3"] == ["not supported", "supported"]


def test_only_claims_that_others_have_runs_for_are_shown():
    decayed = few_methods(dict.fromkeys((TAU_1_15, DECAY_98, DECAY_95, DECAY_92), 0.2))
    assert _words(decayed, other=FALLING).keys() == {"3", "13"}


def test_the_doubt_that_others_are_there_for_is_named():
    doubts, table = _tables(variants_section(FALLING, {"short-sgd": RISING}))
    assert [row[0] for row in doubts.rows] == ["short-sgd"]
    assert list(table.header[1:]) == ["quick", "short-sgd"]
