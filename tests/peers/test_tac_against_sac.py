"""Soft actor-critic recorded live: what `make test` compares with is what torch computes today."""

import numpy as np
import pytest

from golden.sac.compare import RECORDS, assert_same_as_sac, read

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")
from peers.record_sac import CASES, record

RELATIVE, ABSOLUTE = 1e-7, 1e-8
"""Actions are drawn in float32, and processors differ in the last bit of its tanh."""


@pytest.mark.parametrize("name", CASES)
def test_with_index_one_losses_and_gradients_are_those_that_torch_computes_now(name):
    assert_same_as_sac(record(CASES[name]), entropic_index=1.0)


def test_every_case_is_recorded():
    assert {path.stem for path in RECORDS} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_recorded_files_are_what_torch_computes_now(name):
    live = record(CASES[name])
    kept = read(next(path for path in RECORDS if path.stem == name))

    assert set(live) == set(kept)
    for array in set(live) - {"activation"}:
        np.testing.assert_allclose(live[array], kept[array], RELATIVE, ABSOLUTE, err_msg=array)
