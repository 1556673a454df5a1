"""The method of a run as it is in each slot: its rate may fall, and agents may be away."""

import equinox as eqx
import numpy as np

from fmarl.engine.experiment import Experiment
from fmarl.federation.method import Method
from fmarl.federation.missing_agents import without
from fmarl.worlds.world import WorldSpec

NOBODY: frozenset[int] = frozenset()


class Course:
    """How a run's method goes over its slots."""

    def __init__(self, experiment: Experiment, spec: WorldSpec) -> None:
        self.method = experiment.make_method(spec)
        self.total_updates, self.updates_per_epoch = experiment.schedule(spec)
        self._anneals = experiment.anneal
        self._without: tuple[frozenset[int], Method] = (NOBODY, self.method)

    @property
    def sync_period(self) -> int:
        """τ."""
        return int(self.method.sync_period)

    def at(self, update_count: int, away: frozenset[int] = NOBODY) -> Method:
        """The method in the slot after so many, without those who are away."""
        if self._without[0] != away:
            self._without = (away, without(self.method, away))
        method = self._without[1]
        if not self._anneals:
            return method
        left = 1 - update_count / self.total_updates
        rate = np.asarray(float(method.learning_rate) * left)
        return eqx.tree_at(lambda record: record.learning_rate, method, rate)

    def period(self, update_count: int) -> int:
        """The period to which the slot after so many belongs."""
        return update_count // self.sync_period

    def period_end(self, update_count: int) -> int:
        """Slots learned when the period of the slot after so many is over, or the run is."""
        end = (self.period(update_count) + 1) * self.sync_period
        return min(end, self.total_updates)

    def ends_period(self, update_count: int) -> bool:
        """Whether a period is over after so many slots."""
        return update_count % self.sync_period == 0
