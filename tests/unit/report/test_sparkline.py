import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl.report.sparkline import BARS, sparkline

NAN = math.nan


@pytest.mark.parametrize(
    ("values", "width", "drawn"),
    [
        ([], 5, ""),
        ([1.0, 2.0], 0, ""),
        ([3.0], 5, "▄"),
        ([2.0, 2.0, 2.0], 5, "▄▄▄"),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 8, BARS),
        ([7.0, 0.0], 8, "█▁"),
        ([NAN, NAN], 5, "  "),
        ([0.0, NAN, 7.0], 5, "▁ █"),
        ([math.inf, 0.0, -math.inf, 7.0], 5, " ▁ █"),
        ([0.0, 0.0, 7.0, 7.0], 2, "▁█"),
        ([0.0, NAN, 7.0, NAN], 2, "▁█"),
        ([-1.7e308, 1.7e308], 5, "▁█"),
        ([1.7e308, 1.7e308, 0.0], 2, "█▁"),
    ],
)
def test_a_curve_looks_as_drawn_by_hand(values, width, drawn):
    assert sparkline(values, width) == drawn


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(numbers, max_size=40), st.integers(-2, 20))
def test_any_values_fit_any_width(values, width):
    drawn = sparkline(values, width)
    assert len(drawn) == max(min(width, len(values)), 0)
    assert set(drawn) <= {*BARS, " "}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_a_higher_bar_is_never_a_lower_value(values):
    drawn = sparkline(values, len(values))
    ordered = [bar for _, bar in sorted(zip(values, drawn, strict=True))]
    assert ordered == sorted(ordered)
