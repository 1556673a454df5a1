"""Records of what is given and what is chosen: hand-worked values, and every bad input."""

import re

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.theory import Plan, Problem, count_updates, exponential_decay, make_plan
from fmarl.theory.problem import shown

PAIR = np.array([[[0.75, 0.25], [0.25, 0.75]]])


def _says(what: str, allowed: str) -> str:
    """One line with the value, the range and, after it, the way out."""
    return re.escape(f"{what} is not allowed: {allowed}. ") + r"\S[^\n]*$"


@pytest.mark.parametrize(
    "name",
    [
        "smoothness",
        "gradient_noise",
        "gradient_noise_slope",
        "initial_gap",
        "initial_gradient_norm",
        "noise_correlation",
        "upload_cost",
        "update_cost",
        "exchange_cost",
        "mixing_cost",
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_a_problem_refuses_numbers_that_are_negative_or_not_finite(name, value):
    fields = {"smoothness": 1.0, "gradient_noise": 1.0, name: value}

    with pytest.raises(BadInput, match=_says(f"{name} = {value:g}", f"0 <= {name} <= 1e+38")):
        Problem(**fields)


def test_a_problem_refuses_a_loss_without_curvature():
    with pytest.raises(BadInput, match=_says("smoothness = 0", "smoothness > 0")):
        Problem(smoothness=0.0, gradient_noise=1.0)


def test_a_problem_refuses_more_than_full_correlation():
    allowed = "0 <= noise_correlation <= 1"

    with pytest.raises(BadInput, match=_says("noise_correlation = 1.5", allowed)):
        Problem(smoothness=1.0, gradient_noise=1.0, noise_correlation=1.5)


def test_one_bad_setting_among_many_is_refused():
    with pytest.raises(BadInput, match=re.escape("gradient_noise = 1, -2, 3")):
        Problem(smoothness=1.0, gradient_noise=np.array([1.0, -2.0, 3.0]))


def test_long_arrays_are_shown_in_short():
    assert shown(np.arange(20)) == "0, 1, 2, 3, 4, 5, 6, 7, …"
    assert shown(0.25) == "0.25"


@pytest.mark.parametrize("name", ["learning_rate", "total_updates"])
@pytest.mark.parametrize("value", [0.0, -0.1, float("nan"), float("inf")])
def test_a_plan_refuses_steps_and_lengths_that_are_not_positive(name, value):
    with pytest.raises(BadInput, match=_says(f"{name} = {value:g}", f"0 < {name} <= 1e+38")):
        make_plan(sync_period=2, num_agents=2, **{name: value})


@pytest.mark.parametrize("local_updates", [[0, 3], [4, 3], [-1, 3]])
def test_a_plan_refuses_local_updates_outside_the_period(local_updates):
    shown_updates = ", ".join(map(str, local_updates))
    allowed = "each from 1 to sync_period = 3"

    with pytest.raises(BadInput, match=_says(f"local_updates = {shown_updates}", allowed)):
        make_plan(sync_period=3, local_updates=np.array(local_updates))


def test_a_plan_refuses_a_period_that_nobody_fills():
    allowed = "the fastest agent fills the period, max = 3"

    with pytest.raises(BadInput, match=_says("local_updates = 2, 1", allowed)):
        make_plan(sync_period=3, local_updates=np.array([2, 1]))


@pytest.mark.parametrize("agents", [0, -3, None])
def test_a_plan_refuses_to_be_without_agents(agents):
    with pytest.raises(BadInput, match=_says(f"num_agents = {agents or 0}", "num_agents >= 1")):
        make_plan(sync_period=3, num_agents=agents)


def test_a_plan_refuses_an_empty_list_of_agents():
    with pytest.raises(BadInput, match="num_agents = 0"):
        make_plan(sync_period=3, local_updates=np.array([], int))


def test_a_plan_refuses_an_empty_period():
    with pytest.raises(BadInput, match=_says("sync_period = 0", "1 <= sync_period <= 100000")):
        make_plan(sync_period=0, num_agents=2)
    with pytest.raises(BadInput, match="sync_period = 0"):
        Plan(
            learning_rate=0.1,
            total_updates=3,
            local_updates=np.array([1]),
            decay=np.empty(0),
            mixing=np.empty((0, 1, 1)),
        )


@pytest.mark.parametrize(
    "decay",
    [[0.9, 0.5], [1.0, 1.1], [1.0, -0.1], [1.0, float("nan")], [float("nan"), 0.5]],
    ids=["starts below 1", "rises", "turns negative", "ends in nan", "starts with nan"],
)
def test_a_plan_refuses_decay_that_breaks_assumption_a3(decay):
    allowed = "it starts at 1 and never rises or turns negative (assumption A3)"
    numbers = ", ".join(f"{value:g}" for value in decay)

    with pytest.raises(BadInput, match=_says(f"decay = {numbers}", allowed)):
        make_plan(sync_period=2, num_agents=2, decay=np.array(decay))


@pytest.mark.parametrize(
    "mixing",
    [[[0.5, 0.5], [0.4, 0.6]], [[0.5, 0.4], [0.4, 0.5]], [[float("nan")] * 2] * 2],
    ids=["asymmetric", "loses mass", "nan"],
)
def test_a_plan_refuses_mixing_that_does_not_keep_the_mean(mixing):
    with pytest.raises(BadInput, match=r"^mixing is not allowed: [^\n]*symmetric[^\n]*$"):
        make_plan(sync_period=2, num_agents=2, mixing=np.array([mixing]))


def test_a_plan_refuses_mixing_that_drives_agents_apart():
    expanding = np.array([[[-4.0, 5.0], [5.0, -4.0]]])  # symmetric, and rows sum to one

    with pytest.raises(BadInput, match=r"^mixing that leaves 9 times the disagreement [^\n]*$"):
        make_plan(sync_period=2, num_agents=2, mixing=expanding)


def test_a_plan_takes_rounds_that_only_contract_together():
    forth, back = np.eye(2) - np.array([[1.0, -1.0], [-1.0, 1.0]]) * np.array([1.2, 0.45]).reshape(
        2, 1, 1
    )

    plan = make_plan(sync_period=2, num_agents=2, mixing=np.stack([forth, back]))

    assert plan.disagreement_left == pytest.approx(abs(1 - 2.4) * abs(1 - 0.9))


@pytest.mark.parametrize("rate", [0.0, -0.5, 1.01, float("nan")])
def test_decay_rates_lie_above_zero_and_up_to_one(rate):
    with pytest.raises(BadInput, match=_says(f"decay_rate = {rate:g}", "0 < decay_rate <= 1")):
        exponential_decay(rate, 3)


def test_decay_of_several_rates_has_one_row_each():
    assert exponential_decay(np.array([0.25, 1.0]), 3).tolist() == [[1, 0.5, 0.25], [1, 1, 1]]


def test_an_epoch_that_ends_in_a_short_batch_still_counts_it():
    assert count_updates(num_epochs=2, epoch_steps=10, steps_per_update=4) == 6
    assert count_updates(num_epochs=2, epoch_steps=8, steps_per_update=4) == 4


@pytest.mark.parametrize("name", ["num_epochs", "epoch_steps", "steps_per_update"])
def test_counting_refuses_runs_without_content(name):
    numbers = {"num_epochs": 2, "epoch_steps": 10, "steps_per_update": 5, name: 0}

    with pytest.raises(BadInput, match=_says(f"{name} = 0", f"{name} >= 1")):
        count_updates(**numbers)


def test_who_is_active_follows_from_the_local_updates():
    plan = make_plan(sync_period=3, local_updates=np.array([3, 1]))

    assert plan.active.tolist() == [[True, True], [True, False], [True, False]]
    assert plan.active_share.tolist() == [1, 0.5, 0.5]


def test_two_rounds_leave_the_square_of_one():
    once = make_plan(sync_period=1, num_agents=2, mixing=PAIR)
    twice = make_plan(sync_period=1, num_agents=2, mixing=np.concatenate([PAIR, PAIR]))

    assert (once.consensus_rounds, twice.consensus_rounds) == (1, 2)
    assert once.disagreement_left == pytest.approx(0.5)  # eigenvalues 1 and 1/2
    assert twice.disagreement_left == pytest.approx(0.25)
    assert twice.mixed == pytest.approx(PAIR[0] @ PAIR[0])


def test_rounds_act_in_their_order():
    left = np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
    right = np.array([[1.0, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    plan = make_plan(sync_period=1, num_agents=3, mixing=np.stack([left, right]))

    assert plan.mixed @ [4.0, 0, 0] == pytest.approx([2, 1, 1])  # first left, then right


def test_nobody_disagrees_after_exact_averaging():
    plan = make_plan(sync_period=1, num_agents=4, mixing=np.full((1, 4, 4), 0.25))

    assert plan.disagreement_left == pytest.approx(0, abs=1e-15)
    assert plan.deviation == pytest.approx(np.zeros((4, 4)))


def test_settings_along_a_leading_axis_share_one_plan():
    plan = make_plan(
        sync_period=2,
        local_updates=np.array([[2, 1], [2, 2]]),
        decay=exponential_decay(np.array([0.25, 1.0]), 2),
    )

    assert (plan.sync_period, plan.num_agents) == (2, 2)
    assert plan.active_share.tolist() == [[1, 0.5], [1, 1]]
