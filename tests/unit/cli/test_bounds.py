import pytest

from fmarl.cli.bounds import learning_rate_problem
from fmarl.cli.bounds_setting import Setting
from fmarl.cli.output import show
from fmarl.theory.catalogue import BOUNDS, BoundsResult, evaluate_bounds


def evaluate(setting: Setting) -> BoundsResult:
    return evaluate_bounds(setting.problem(), setting.plan())


def problem_with(setting: Setting) -> str | None:
    return learning_rate_problem(setting, evaluate(setting))


@pytest.mark.parametrize(
    ("setting", "claimed"),
    [
        (Setting(), "periodic"),
        (Setting(local_updates="1-15"), "variation"),
        (Setting(local_updates="1-15", decay_rate=0.9), "decay"),
        (Setting(graph="ring"), "consensus"),
    ],
)
def test_the_claimed_bound_is_the_one_the_paper_gives_for_the_method(setting, claimed):
    assert evaluate(setting).claimed == claimed


def test_every_bound_of_the_catalogue_is_evaluated_and_is_the_sum_of_its_terms():
    evaluation = evaluate(Setting(local_updates="1-15", decay_rate=0.92, graph="paper-13"))
    assert set(evaluation.bounds) == set(BOUNDS)
    for terms in evaluation.bounds.values():
        assert terms["total"] == pytest.approx(
            terms["optimisation"] + terms["noise"] + terms["drift"]
        )


def test_a_learning_rate_above_condition_14_is_told_the_largest_one_that_passes():
    message = problem_with(Setting(learning_rate=1e-3))
    assert message is not None
    assert "0.0003125" in message
    assert problem_with(Setting(learning_rate=3.125e-4)) is None


def test_the_suggested_learning_rate_is_itself_admissible():
    for smoothness in (1.7, 33.3, 700.0):
        message = problem_with(Setting(learning_rate=1.0, smoothness=smoothness))
        assert message is not None
        suggestion = float(message.split("at most ")[1].split()[0])
        setting = Setting(learning_rate=suggestion, smoothness=smoothness)
        assert problem_with(setting) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (3, "3"),
        (0.5, "0.5"),
        (1234.56, "1234.6"),
        (float("nan"), "–"),
        (1e-5, "1e-05"),
    ],
)
def test_cells_are_short(value, text):
    assert show(value) == text
