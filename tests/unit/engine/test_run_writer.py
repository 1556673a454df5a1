"""What a run writes down of its tests, for people and for TensorBoard."""

import math

import pytest

from fmarl.engine.run import begin, silence
from fmarl.engine.run_writer import RunWriter
from fmarl.records.run_folder import RunFolder
from fmarl.records.tensorboard import Board
from fmarl.rollout.evaluate import Evaluation
from unit.engine.small_experiments import toy
from unit.records.test_tensorboard import curve


@pytest.mark.parametrize(
    ("world", "measure", "score"), [("gym:CartPole-v1", "return", 20.0), ("merge", "NAS", 1.0)]
)
def test_tensorboard_has_the_score_that_everything_shows(tmp_path, world, measure, score):
    folder = begin(toy(), tmp_path / "run")
    found = Evaluation([1.0, 1.0], [20, 20], [False, False], [10.0, math.nan, 30.0], None)
    with RunWriter(folder, "id", silence, world) as writer:
        writer._board = Board(RunFolder(folder).tensorboard, first_step=0)
        writer.test(3, 6, found)
    assert curve(RunFolder(folder).tensorboard, f"test/{measure}") == [(6, score)]
    assert curve(RunFolder(folder).tensorboard, "test/mean") == [(6, 1.0)]
