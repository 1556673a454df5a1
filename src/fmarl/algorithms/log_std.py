"""How wide a squashed Gaussian may be. Plain arithmetic: workers, which never load JAX, use it too.

A network gives any number; its tanh, from −1 to 1, is mapped to the logarithm of the standard
deviation by a straight line, as the authors of the Tsallis actor-critic do.
"""

import math
from typing import Any

LOWEST_LOG_STD, HIGHEST_LOG_STD = -20.0, 2.0
_MIDDLE = (HIGHEST_LOG_STD + LOWEST_LOG_STD) / 2
_REACH = (HIGHEST_LOG_STD - LOWEST_LOG_STD) / 2


def log_std_of(bent: Any) -> Any:
    """Logarithm of the standard deviation for the tanh of a network's output, of any array kind.

    >>> log_std_of(-1.0), log_std_of(0.0), log_std_of(1.0)
    (-20.0, -9.0, 2.0)
    """
    return bent * _REACH + _MIDDLE


def output_for(log_std: float) -> float:
    """What the network must give for a log-std inside the range.

    >>> round(log_std_of(math.tanh(output_for(-0.5))), 12)
    -0.5
    """
    return math.atanh((log_std - _MIDDLE) / _REACH)
