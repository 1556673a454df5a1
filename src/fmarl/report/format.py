"""How numbers and their intervals are written, wherever people read them."""

import math
from collections.abc import Sequence

import numpy as np

from fmarl.report.statistics import Interval

NOTHING = "–"
MOST_NAMED = 6
MOST_DECIMALS = 9


def number(value: float, digits: int = 3) -> str:
    """So many significant digits, without an exponent where it can be.

    >>> number(33.534, 4), number(0.000213), number(-math.inf), number(1234.5), number(math.nan)
    ('33.53', '0.000213', 'infeasible', '1234', '–')
    """
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "infeasible" if value < 0 else "∞"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -6 or size > 9:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(digits - 1 - size, 0)}f}"


def mean_number(values: Sequence[float]) -> str:
    """The mean of values, in three digits."""
    return number(float(np.mean(values)))


def with_interval(interval: Interval, digits: int = 3, least: float = 0.0) -> str:
    """A value and its interval, if there is one, all with the same decimals.

    There are as many as so many digits of the largest of them need, or of `least` if that is
    larger: what is far below it reads as zero.

    >>> with_interval(Interval(0.0935, 0.02604, 0.161)), with_interval(Interval(2.0, math.nan, 3.0))
    ('0.0935 [0.0260, 0.1610]', '2.00')
    >>> with_interval(Interval(-0.00012, -0.0312, 0.0309))
    '-0.0001 [-0.0312, 0.0309]'
    >>> with_interval(Interval(2e-7, -4e-6, 4e-6), digits=2, least=0.001)
    '0.0000 [0.0000, 0.0000]'
    """
    value, low, high = interval
    if not all(map(math.isfinite, interval)):
        return number(value, digits)
    scale = max(abs(value), (high - low) / 2, least)
    size = math.floor(math.log10(scale)) if scale else 0
    decimals = min(max(digits - 1 - size, 0), MOST_DECIMALS)
    value, low, high = (f"{round(part, decimals) + 0:.{decimals}f}" for part in interval)
    return f"{value} [{low}, {high}]"


def between(low: int, high: int) -> str:
    """Two whole numbers, or one if they are the same.

    >>> between(21000, 21000), between(12, 15)
    ('21000', '12–15')
    """
    return f"{low}" if low == high else f"{low}–{high}"


def size(count: int) -> str:
    """Bytes in the unit that leaves one to three digits before the point.

    >>> size(0), size(999), size(11_800_000), size(999_960)
    ('0 B', '999 B', '11.8 MB', '1.0 MB')
    """
    if count < 1000:
        return f"{count} B"
    amount, unit = count / 1000, "kB"
    for larger in ("MB", "GB", "TB", "PB"):
        if amount < 999.95:  # what would be printed as 1000.0 belongs to the next unit
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}"


def counted(count: int, one: str, many: str = "") -> str:
    """So many things.

    >>> counted(1, "run"), counted(2, "run"), counted(0, "series", "series")
    ('1 run', '2 runs', '0 series')
    """
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first few of them.

    >>> listed(["IRL", "FIRL τ=1", "FIRL τ=15"]), listed(list("abcdefghi"))
    ('IRL, FIRL τ=1 and FIRL τ=15', 'a, b, c, d, e, f and 3 others')
    """
    shown = list(names[:MOST_NAMED])
    rest = [counted(len(names) - len(shown), "other")] if len(names) > len(shown) else []
    parts = [*shown, *rest]
    return " and ".join([part for part in (", ".join(parts[:-1]), *parts[-1:]) if part])
