"""Our PPO and TRPO against Stable-Baselines3 as it is installed now; needs torch."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from peers import sb3_checks
from peers.record_sb3 import FOLDER, PPO_CASES, TRPO_CASES, record_all


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sb3")
    with pytest.warns(UserWarning, match="truncated mini-batch"):
        record_all(folder)
    return folder


@pytest.mark.parametrize("name", PPO_CASES)
def test_ppo_is_theirs(live, name):
    record = sb3_checks.load(live / f"{name}.npz")
    sb3_checks.check_judgement(record)
    sb3_checks.check_ppo_gradient(record)
    sb3_checks.check_ppo_update(record)


@pytest.mark.parametrize("name", TRPO_CASES)
def test_trpo_is_theirs(live, name):
    record = sb3_checks.load(live / f"{name}.npz")
    sb3_checks.check_judgement(record)
    sb3_checks.check_trust_region(record)
    sb3_checks.check_trpo_update(record)


@pytest.mark.parametrize("name", [*PPO_CASES, *TRPO_CASES])
def test_what_is_kept_in_the_repository_is_what_is_recorded_now(live, name):
    kept, now = (sb3_checks.load(folder / f"{name}.npz") for folder in (FOLDER, live))
    assert kept.settings == now.settings
    assert kept.arrays.keys() == now.arrays.keys()
    for key, array in kept.arrays.items():
        np.testing.assert_allclose(array, now.arrays[key], rtol=1e-4, atol=1e-6, err_msg=key)
