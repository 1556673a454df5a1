"""The shape of every bound here: three causes of error, and their sum."""

from typing import NamedTuple

from fmarl.theory.problem import Real


class Bound(NamedTuple):
    """An upper bound on the average squared gradient norm, as the sum of its three causes."""

    optimisation: Real
    """Distance still to go: falls with the number of updates."""
    noise: Real
    """Variance of the averaged gradient: falls with the number of agents."""
    drift: Real
    """Agents that moved apart between two averagings: grows with the period."""

    @property
    def total(self) -> Real:
        """The bound itself."""
        return self.optimisation + self.noise + self.drift
