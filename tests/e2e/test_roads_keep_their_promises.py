"""Both roads pass the checks that ship to users, and PettingZoo's own."""

import warnings

import pytest

from fmarl.worlds.check import check_world
from fmarl.worlds.sumo import figure_eight, merge

with warnings.catch_warnings():  # PettingZoo's test module warns about its own imports
    warnings.simplefilter("ignore")
    from pettingzoo.test import parallel_api_test, parallel_seed_test


@pytest.mark.parametrize("road", [figure_eight, merge], ids=["figure-eight", "merge"])
def test_a_road_passes_check_world(road):
    check_world(lambda: road.make(epoch_steps=150), steps=200)


@pytest.mark.parametrize("road", [figure_eight, merge], ids=["figure-eight", "merge"])
def test_a_road_passes_pettingzoos_api_test(road):
    env = road.parallel_env(epoch_steps=60)
    parallel_api_test(env, num_cycles=150)
    env.close()


@pytest.mark.parametrize("road", [figure_eight, merge], ids=["figure-eight", "merge"])
def test_a_road_passes_pettingzoos_seed_test(road):
    made = []

    def make():
        made.append(road.parallel_env(epoch_steps=30))
        return made[-1]

    parallel_seed_test(make)
    assert len(made) == 2  # two roads at once: each has its own process
    for env in made:
        env.close()
