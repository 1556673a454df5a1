"""Which runs are wanted: each once, in an order that is useful when it is cut short."""

from collections import Counter
from pathlib import Path

import pytest

from fmarl.errors import BadInput
from fmarl.reproduce.claims import CLAIMS
from fmarl.reproduce.methods import sample_run
from fmarl.reproduce.paper import IRL, PARTS, SUMO, TABLE_NAMES
from fmarl.reproduce.results import ResultsFolder
from fmarl.reproduce.run_plan import missing_tasks, parts_of, planned, seeds_of
from fmarl.reproduce.study import LENGTHS, make_study
from unit.reproduce.made_up import STUDY, evidence, facts_by_name, noise, results_of


def test_no_run_is_planned_twice():
    keys = Counter(task.key for task in planned(STUDY, PARTS, {}))
    assert max(keys.values()) == 1


def test_figures_share_the_runs_of_the_table():
    table = {task.key for task in planned(STUDY, ["table4"], {})}
    both = {task.key for task in planned(STUDY, ["table4", "fig7"], {})}
    assert both == table


def test_every_method_of_a_seed_comes_before_the_next_seed():
    seeds = [task.experiment.seed for task in planned(STUDY, ["fig4", "table4"], {})]
    assert seeds[0] == STUDY.choices.sample_seed
    assert seeds[1:] == sorted(seeds[1:])


def test_the_table_has_its_own_number_of_seeds():
    assert [len(seeds_of(STUDY, name)) for name in (IRL, TABLE_NAMES[0])] == [5, 6]


def test_the_sample_set_comes_first_and_its_seed_is_not_reported():
    first = planned(STUDY, ["table4"], {})[0]
    assert first.experiment == sample_run(STUDY)
    assert first.experiment.seed not in range(max(STUDY.length.seeds, STUDY.length.table_seeds))


def test_a_lost_sample_set_is_made_again_only_if_a_run_needs_it(tmp_path: Path):
    results, place = results_of(STUDY, noise), ResultsFolder(tmp_path)
    assert missing_tasks(STUDY, PARTS, results, place) == []
    measured = next(key for key, one in results.items() if one.facts["experiment"]["samples"])
    del results[measured]
    assert [task.key for task in missing_tasks(STUDY, PARTS, results, place)] == [
        planned(STUDY, PARTS, results)[0].key,
        measured,
    ]


def test_a_lost_baseline_needs_no_sample_set(tmp_path: Path):
    results = results_of(STUDY, noise)
    sumo = facts_by_name(STUDY, results)[f"{SUMO} seed 0"]
    del results[sumo.key]
    missing = missing_tasks(STUDY, PARTS, results, ResultsFolder(tmp_path))
    assert [task.key for task in missing] == [sumo.key]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"claim-{claim.number}")
def test_every_claim_is_about_methods_that_are_run(claim):
    verdicts = evidence(noise).verdicts(claim)
    assert [one.seeds for one in verdicts if one.seeds < STUDY.length.seeds] == []


@pytest.mark.parametrize("profile", LENGTHS)
def test_tuning_and_sample_seeds_are_never_reported(profile: str):
    study = make_study(profile)
    reported = set(range(max(study.length.seeds, study.length.table_seeds)))
    assert not reported & {*study.length.tuning_seeds, study.choices.sample_seed}


def test_the_paper_profile_is_table_3():
    length = make_study("paper").length
    assert (length.num_epochs, length.test_every, length.test_repetitions) == (500, 10, 5)
    assert (length.seeds, length.table_seeds) == (5, 10)


@pytest.mark.parametrize("seeds", [0, -1, 101])
def test_a_number_of_seeds_that_can_not_be_is_refused(seeds: int):
    with pytest.raises(BadInput, match="seeds"):
        make_study("quick", seeds=seeds)


@pytest.mark.parametrize("word", ["fig3", "", "Table4", "all,fig4"])
def test_an_unknown_figure_is_refused(word: str):
    with pytest.raises(BadInput, match="one of fig4"):
        parts_of(word)
