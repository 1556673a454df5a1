"""Each measure against curves whose value is plain to see."""

import math

import numpy as np
import pytest

from fmarl.engine.experiment import Experiment
from fmarl.report.run_scores import UtilityRow
from fmarl.reproduce import measures
from fmarl.reproduce.results import Result, result_of
from unit.reproduce.made_up import record


def _run(heights: list[float], **changes) -> Result:
    experiment = Experiment(num_epochs=10 * (len(heights) - 1))
    rewards = [[height, height] for height in heights]
    return result_of(record(experiment, 0.0, rewards=rewards, **changes))


def test_the_end_is_the_last_tenth_of_the_tests():
    assert measures.final(_run([0.0] * 18 + [0.2, 0.4]), 0.0) == pytest.approx(0.3)
    assert measures.final(_run([0.0, 0.1, 0.5]), 0.0) == pytest.approx(0.5)


def test_the_area_is_a_mean_height():
    assert measures.area(_run([0.0, 0.2, 0.2]), 0.0) == pytest.approx(0.15)


def test_the_area_ends_with_epoch_100():
    assert measures.area(_run([0.2] * 11 + [0.9] * 40), 0.0) == pytest.approx(0.2)


def test_time_counts_to_the_first_test_at_the_level():
    assert measures.epochs_to_sumo(_run([0.0, 0.2, 0.3, 0.1]), 0.25) == 20.0


def test_a_run_that_never_gets_there_needs_a_test_more_than_there_are():
    assert measures.epochs_to_sumo(_run([0.0, 0.1, 0.1]), 0.25) == 30.0


def test_unrest_is_about_the_second_half_only():
    assert measures.unrest(_run([0.0, 0.9, 0.3, 0.3, 0.3, 0.3]), 0.0) == 0.0
    assert measures.unrest(_run([0.0, 0.0, 0.1, 0.3, 0.1, 0.3]), 0.0) == pytest.approx(0.2)


def test_norm_and_utility_come_from_what_was_measured():
    run = _run([0.0, 0.1], measured=list(UtilityRow(10.0, 2.0, 100.0, 0.08)))
    assert measures.log_gradient_norm(run, 0.0) == pytest.approx(math.log(2.0))
    assert measures.utility(run, 0.0) == pytest.approx(0.08)


def test_a_run_that_made_things_worse_has_negative_utility_and_still_counts():
    run = _run([0.0, 0.1], measured=list(UtilityRow(10.0, 12.0, 100.0, -math.inf)))
    assert measures.utility(run, 0.0) == pytest.approx(-0.02)


@pytest.mark.parametrize("measure", ["norm", "utility"])
def test_what_was_not_measured_is_not_a_number(measure: str):
    run = _run([0.0, 0.1], measured=None)
    assert math.isnan(measures.MEASURES[measure].score(run, 0.0))


def test_efficiency_is_nas_by_what_was_sent():
    run = _run([0.1, 0.2, 0.3], uploads=[0, 100, 200], exchanges=[0, 1000, 2000])
    np.testing.assert_allclose(measures.efficiency(run)[1:], [0.2 / 101, 0.3 / 202])
    both = (math.log(0.2 / 101) + math.log(0.3 / 202)) / 2
    assert measures.early_efficiency(run, 0.0) == pytest.approx(both)


def test_the_beginning_ends_with_epoch_50():
    sent = {"uploads": [0, *[100] * 7], "exchanges": [0] * 8}
    early, late = _run([0.2] * 8, **sent), _run([0.2] * 6 + [0.9] * 2, **sent)
    assert measures.early_efficiency(early, 0.0) == measures.early_efficiency(late, 0.0)
