"""Whole runs under a hierarchy and with lying agents, on real worlds with real learners."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmarl.engine.run import Run, train
from fmarl.federation.recipes import MethodConfig
from fmarl.records.checkpoint import read_checkpoint
from fmarl.records.run_folder import read_run
from unit.engine.small_experiments import toy


def _run(folder: Path, num_epochs: int = 2, num_worlds: int = 1, **together: Any) -> Run:
    """Periods of two slots, one per epoch."""
    config = MethodConfig(sync_period=2, learning_rate=1e-2, **together)
    quiet = {"test_every": 0, "sample_slots": 0}
    return train(
        toy(together=config, num_epochs=num_epochs, num_worlds=num_worlds, **quiet), folder
    )


def _parameters(run: Run) -> np.ndarray:
    found = read_checkpoint(run.folder, read_run(run.folder)["run_id"])
    return found.arrays["state.parameters"]


@pytest.mark.parametrize(("periods", "averaged"), [(1, "worlds"), (2, "all"), (3, "worlds")])
def test_worlds_agree_every_period_and_with_each_other_every_q(tmp_path, periods, averaged):
    run = _run(tmp_path / "run", num_epochs=periods, num_worlds=2, hierarchy=2)
    one, other = np.split(_parameters(run), 2)
    assert (one == one[0]).all() and (other == other[0]).all()
    assert np.array_equal(one, other) == (averaged == "all")


def test_a_root_that_meets_every_period_is_one_virtual_agent_bit_for_bit(tmp_path):
    edges = _run(tmp_path / "edges", num_worlds=2, hierarchy=1)
    assert edges.digest == _run(tmp_path / "one", num_worlds=2).digest


def test_a_lie_changes_a_run_and_a_robust_rule_what_becomes_of_it(tmp_path):
    words: list[dict[str, Any]] = [{}, {"attack": "scale:1:9"}, {"aggregate": "median"}]
    words.append({**words[1], **words[2]})
    runs = [_run(tmp_path / str(place), **each) for place, each in enumerate(words)]
    assert len({run.digest for run in runs}) == 4
    for run in runs:
        rows = _parameters(run)
        assert (rows == rows[0]).all()
