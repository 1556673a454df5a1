"""The best learning rate of a method is chosen on its own seeds, and only when all are there."""

import pytest

from fmarl.reproduce.keys import key_of
from fmarl.reproduce.methods import TAU_1, TAU_15
from fmarl.reproduce.plan import planned
from fmarl.reproduce.results import Result, result_of
from fmarl.reproduce.study import make_study
from fmarl.reproduce.tuning import (
    TUNED,
    best_rates,
    rates,
    tuned_experiments,
    tuning_experiments,
)
from unit.reproduce.made_up import STUDY, noise, record

TUNED_RATES = STUDY.length.tuned_rates


def _tuned(heights: dict[float, float]) -> dict[str, Result]:
    """Results of all tuning runs, as high as their η says."""
    return {
        key_of(one): result_of(record(one, heights[one.together.learning_rate]))
        for one in tuning_experiments(STUDY).values()
    }


def test_the_rate_with_the_largest_area_is_chosen():
    results = _tuned(dict(zip(TUNED_RATES, [0.1, 0.2, 0.3, 0.0], strict=True)))
    assert set(best_rates(STUDY, results).values()) == {1e-3}
    found = tuned_experiments(STUDY, results)[TUNED + TAU_15]
    assert found.together.learning_rate == 1e-3
    assert found.num_epochs == STUDY.length.tuned_epochs


def test_nothing_is_chosen_before_all_rates_have_been_tried():
    results = _tuned(dict.fromkeys(TUNED_RATES, 0.1))
    lost = next(
        key
        for key, one in results.items()
        if one.facts["experiment"]["together"]["sync_period"] == 1
    )
    del results[lost]
    assert best_rates(STUDY, results)[TAU_1] is None
    assert TUNED + TAU_1 not in tuned_experiments(STUDY, results)
    assert TUNED + TAU_15 in tuned_experiments(STUDY, results)


def test_reported_runs_do_not_change_the_choice():
    results = _tuned(dict(zip(TUNED_RATES, [0.1, 0.2, 0.3, 0.0], strict=True)))
    reported = {
        task.key: result_of(record(task.experiment, 0.9))
        for task in planned(STUDY, ["fig4", "fig5"], {})[1:]
    }
    assert best_rates(STUDY, results | reported) == best_rates(STUDY, results)


def test_another_learning_rate_is_tuned_around_itself():
    assert rates(make_study("paper", "sgd")) == pytest.approx((1e-2, 3e-2, 1e-1, 3e-1))


def test_a_method_whose_best_rate_is_the_papers_is_not_run_again_if_lengths_agree():
    results = _tuned(dict(zip(TUNED_RATES, [0.3, 0.2, 0.1, 0.0], strict=True)))
    tasks = planned(STUDY, ["fig4", "fig5", "fig6", "fig7", "table4"], results)
    assert not [task for task in tasks if task.name.startswith(TUNED)]


def test_noise_is_made_up_but_steady():
    [task, *_] = planned(STUDY, ["fig4"], {})
    assert noise(task) == noise(task)
