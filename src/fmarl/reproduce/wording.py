"""How numbers and their intervals are written in the report."""

import math

from fmarl.report.statistics import Interval


def with_interval(interval: Interval, digits: int = 3) -> str:
    """A value and its 95 % interval.

    >>> with_interval(Interval(0.28123, 0.279, 0.2834))
    '0.281 [0.279, 0.283]'
    """
    value = number(interval.value, digits)
    if math.isnan(interval.value) or math.isnan(interval.low):
        return value
    return f"{value} [{number(interval.low, digits)}, {number(interval.high, digits)}]"


def number(value: float, digits: int = 3) -> str:
    """So many significant digits, without an exponent where it can be.

    >>> number(33.534, 4), number(0.000213), number(-math.inf), number(1234.5), number(math.nan)
    ('33.53', '0.000213', 'infeasible', '1234', '–')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infeasible" if value < 0 else "∞"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    return f"{value:.{max(digits - 1 - size, 0)}f}"
