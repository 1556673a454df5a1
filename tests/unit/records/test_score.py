"""One measure for each world, for everything that shows how good a run is."""

import math

import pytest

from fmarl.records.score import MEASURES, score_in, score_text
from fmarl.worlds.registry import ROADS, WORLDS


def test_every_world_of_ours_has_a_measure_and_roads_have_their_speed():
    assert MEASURES.keys() == WORLDS.keys()
    assert [name for name, measure in MEASURES.items() if measure == "NAS"] == list(ROADS)


@pytest.mark.parametrize(
    ("world", "score"),
    [("merge", 0.5), ("toy-bumpy", 0.5), ("gym:X", 20.0), ("my_module:env", 20.0)],
)
def test_the_score_is_the_mean_or_what_an_episode_brings(world, score):
    assert score_in({"mean": 0.5, "returns": [10.0, None, 30.0]}, world) == score


def test_nothing_found_is_not_a_number():
    assert math.isnan(score_in({"mean": None}, "merge"))
    assert math.isnan(score_in({"returns": [None]}, "gym:X"))
    assert math.isnan(score_in({}, "gym:X"))


def test_small_scores_keep_their_digits():
    assert score_text(-0.00001708) == "-1.71e-05"
    assert score_text(-0.0) == score_text(0.0) == "0.000"
    assert score_text(math.nan) == "–"
