import re

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.theory import local_updates_from_times, spread_local_updates


@pytest.mark.parametrize(
    ("seconds", "period", "expected"),
    [
        ([0.7], 3, [3]),
        ([0.3, 0.9, 0.7], 3, [3, 1, 1]),
        ([1.0, 2.0, 16.0], 15, [15, 7, 0]),
        ([2.0, 1.0], 4, [2, 4]),
    ],
)
def test_local_updates_by_hand(seconds, period, expected):
    assert local_updates_from_times(seconds, period).tolist() == expected


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_step_times_are_positive_and_finite(seconds):
    said = re.escape(f"step time {seconds} is not allowed: seconds > 0 and finite. ")

    with pytest.raises(BadInput, match=said + r"\S[^\n]*$"):
        local_updates_from_times([1.0, seconds], 3)


@pytest.mark.parametrize(
    ("fewest", "most", "agents", "expected"),
    [
        (1, 15, 7, [15, 13, 11, 9, 7, 5, 3]),
        (4, 4, 3, [4, 4, 4]),
        (1, 4, 4, [4, 3, 2, 1]),
        (1, 2, 4, [2, 2, 1, 1]),
    ],
)
def test_spread_updates_by_hand(fewest, most, agents, expected):
    assert spread_local_updates(fewest, most, agents).tolist() == expected


@pytest.mark.parametrize(("fewest", "most"), [(0, 3), (4, 3), (-2, -1)])
def test_ranges_of_updates_start_at_one_and_do_not_fall(fewest, most):
    said = re.escape(f"local updates {fewest}-{most} is not allowed: 1 <= fewest <= most. ")

    with pytest.raises(BadInput, match=said + r"\S[^\n]*$"):
        spread_local_updates(fewest, most, 7)


def test_spread_updates_stay_in_their_range_and_start_at_its_top():
    for most in range(1, 20):
        for fewest in range(1, most + 1):
            updates = spread_local_updates(fewest, most, 5)
            assert updates[0] == most
            assert np.all((updates >= fewest) & (updates <= most))
            assert np.all(np.diff(updates) <= 0)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: local_updates_from_times([], 3), "the number of step times = 0"),
        (lambda: local_updates_from_times([1.0], 0), "sync_period = 0"),
        (lambda: spread_local_updates(1, 15, num_agents=0), "num_agents = 0"),
    ],
)
def test_nobody_and_nothing_are_refused(call, named):
    with pytest.raises(BadInput, match=named):
        call()
