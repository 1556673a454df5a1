"""The best step of a method is chosen on its own seeds, and only when all are there."""

from collections.abc import Sequence

import pytest

from fmarl.reproduce.methods import in_merge, on_seed
from fmarl.reproduce.paper import TAU_1, TAU_15
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.results import Result, result_of
from fmarl.reproduce.run_plan import planned
from fmarl.reproduce.study import make_study
from fmarl.reproduce.tuning import (
    TUNED,
    best_steps,
    candidates,
    rates,
    tunable,
    tuned_experiments,
    tuning_experiments,
)
from unit.reproduce.made_up import STUDY, noise, record

TRPO = "Merge TRPO FIRL"


def _tuned(heights: Sequence[float]) -> dict[str, Result]:
    """Results of all tuning runs, as high as the place of their step says."""
    return {
        key_of(on_seed(one, seed)): result_of(record(on_seed(one, seed), height))
        for experiment in tunable(STUDY).values()
        for height, one in zip(heights, candidates(STUDY, experiment).values(), strict=True)
        for seed in STUDY.length.tuning_seeds
    }


def test_the_runs_that_are_made_are_those_that_are_looked_at():
    assert set(_tuned([0.1] * 4)) == {key_of(one) for one in tuning_experiments(STUDY).values()}


def test_the_step_with_the_largest_area_is_chosen():
    results = _tuned([0.1, 0.2, 0.3, 0.0])
    assert best_steps(STUDY, results)[TAU_15] == 1e-3
    found = tuned_experiments(STUDY, results)[TUNED + TAU_15]
    assert found.together.learning_rate == 1e-3
    assert found.num_epochs == STUDY.length.tuned_epochs


def test_under_trpo_the_trust_region_is_chosen_and_the_rate_stays():
    results = _tuned([0.1, 0.3, 0.2, 0.0])
    found = tuned_experiments(STUDY, results)[TUNED + TRPO]
    assert best_steps(STUDY, results)[TRPO] == found.trpo.target_kl == 3e-3
    assert found.together.learning_rate == in_merge(STUDY)[TRPO].together.learning_rate


def test_the_first_candidate_is_the_method_as_it_is_run_for_the_figures():
    for experiment in tunable(STUDY).values():
        first, *_ = candidates(STUDY, experiment).values()
        assert first.together == experiment.together
        assert first.trpo == experiment.trpo


def test_nothing_is_chosen_before_all_steps_have_been_tried():
    results = _tuned([0.1] * 4)
    lost = next(
        key
        for key, one in results.items()
        if one.facts["experiment"]["together"]["sync_period"] == 1
    )
    del results[lost]
    assert best_steps(STUDY, results)[TAU_1] is None
    assert TUNED + TAU_1 not in tuned_experiments(STUDY, results)
    assert TUNED + TAU_15 in tuned_experiments(STUDY, results)


def test_reported_runs_do_not_change_the_choice():
    results = _tuned([0.1, 0.2, 0.3, 0.0])
    reported = {
        task.key: result_of(record(task.experiment, 0.9))
        for task in planned(STUDY, ["fig4", "fig5"], {})[1:]
    }
    assert best_steps(STUDY, results | reported) == best_steps(STUDY, results)


def test_another_learning_rate_is_tuned_around_itself():
    assert rates(make_study("paper", "sgd")) == pytest.approx((1e-2, 3e-2, 1e-1, 3e-1))


def test_a_method_whose_best_rate_is_the_papers_is_not_run_again_if_lengths_agree():
    results = _tuned([0.3, 0.2, 0.1, 0.0])
    tasks = planned(STUDY, ["fig4", "fig5", "fig6", "fig7", "table4"], results)
    assert not [task for task in tasks if task.name.startswith(TUNED)]


def test_noise_is_made_up_but_steady():
    [task, *_] = planned(STUDY, ["fig4"], {})
    assert noise(task) == noise(task)
