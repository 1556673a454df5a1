"""The method of a run in each slot: who is away, how fast it learns, and when a period is over."""

import numpy as np
import pytest

from fmarl.engine.engine import Schedule
from fmarl.engine.experiment import Experiment
from fmarl.federation.recipes import MethodConfig
from fmarl.worlds.world import WorldSpec

SPEC = WorldSpec(name="x", num_agents=3, observation_size=2, num_actions=1, epoch_steps=500)


def _schedule(**changes) -> Schedule:
    together = MethodConfig(method="consensus", sync_period=4, graph="ring", learning_rate=0.1)
    return Schedule(Experiment(num_epochs=5, together=together, **changes), SPEC)


def test_nothing_changes_while_everybody_is_there():
    course = _schedule()
    assert course.at(0) is course.at(7) is course.method


def test_who_is_away_learns_nothing_and_mixes_with_nobody():
    method = _schedule().at(3, frozenset({1}))
    assert method.local_updates.tolist() == [[4, 0, 4]]
    assert np.array_equal(method.mixing[0][1], [0, 1, 0])
    assert _schedule().at(3).local_updates.tolist() == [[4, 4, 4]]


def test_the_learning_rate_falls_to_zero_if_it_is_annealed():
    course = _schedule(anneal=True)
    rates = [float(course.at(count).learning_rate) for count in (0, 5, 10)]
    assert rates == pytest.approx([0.1, 0.05, 0.0])
    assert float(course.at(5, frozenset({0})).learning_rate) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("count", "period", "end"), [(0, 0, 4), (3, 0, 4), (4, 1, 8), (8, 2, 10), (9, 2, 10)]
)
def test_a_period_ends_after_tau_slots_or_with_the_run(count, period, end):
    course = _schedule()
    assert (course.period(count), course.period_end(count)) == (period, end)
    assert course.ends_period(count) == (count % 4 == 0)
