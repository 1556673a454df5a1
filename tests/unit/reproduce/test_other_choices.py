"""Verdicts with other choices, beside those of the study that is reported on."""

import pytest
from docs.generate import tables_of, word_of

from fmarl.reproduce.claims_section import variants_section
from fmarl.reproduce.paper import DECAY_92, DECAY_95, DECAY_98, TAU_1, TAU_1_15, TAU_10, TAU_15
from fmarl.reproduce.study_results import Evidence
from unit.reproduce.made_up import few_methods

ORDER = (TAU_1, TAU_10, TAU_15)
FALLING = few_methods({name: 0.3 - 0.1 * place for place, name in enumerate(ORDER)})
RISING = few_methods({name: 0.1 + 0.1 * place for place, name in enumerate(ORDER)})


def _words(evidence: Evidence, **others: Evidence) -> dict[str, list[str]]:
    """Verdicts by the number of their claim."""
    _, table, _ = tables_of(variants_section(evidence, others))
    return {str(row[0]).split(".")[0]: [word_of(cell) for cell in row[1:]] for row in table.rows}


def test_each_study_has_the_verdict_of_its_own_runs():
    assert _words(FALLING, other=RISING)["3"] == ["supported", "not supported"]
    assert _words(RISING, other=FALLING)["3"] == ["not supported", "supported"]


def test_only_claims_that_others_have_runs_for_are_shown():
    decayed = few_methods(dict.fromkeys((TAU_1_15, DECAY_98, DECAY_95, DECAY_92), 0.2))
    assert _words(decayed, other=FALLING).keys() == {"3", "13"}


def test_the_doubt_that_others_are_there_for_is_named():
    doubts, table, _ = tables_of(variants_section(FALLING, {"short-sgd": RISING}))
    assert [row[0] for row in doubts.rows] == ["short-sgd"]
    assert list(table.header[1:]) == ["quick", "short-sgd"]


def _areas(evidence: Evidence, other: Evidence) -> dict[str, list[str]]:
    *_, table = tables_of(variants_section(evidence, {"other": other}))
    return {str(row[0]): [str(cell) for cell in row[1:]] for row in table.rows}


def test_mean_scores_stand_beside_each_other_and_what_was_not_run_is_empty():
    areas = _areas(FALLING, few_methods({TAU_1: 0.2, DECAY_92: 0.25}))
    assert [float(cell.split()[0]) for cell in areas[TAU_1]] == pytest.approx([0.3, 0.2], abs=3e-3)
    assert areas[DECAY_92][0] == "–"


def test_what_longer_steps_bring_is_the_slope_over_methods():
    heights = {TAU_15: 0.3, TAU_1_15: 0.26, DECAY_92: 0.2495}  # shares 1, 0.6 and 0.495
    nothing, found = _areas(FALLING, few_methods(heights))["a tenth of a step"]
    assert nothing == "– (–)"
    assert float(found.split()[0]) == pytest.approx(0.01, abs=5e-4)
    assert found.endswith("(1.0)")
