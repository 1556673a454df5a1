"""What Stable-Baselines3 computed, kept in tests/golden/sb3, is what we compute."""

from pathlib import Path

import pytest

from peers import sb3_checks

FOLDER = Path(__file__).parents[2] / "golden" / "sb3"
PPO = sorted(FOLDER.glob("ppo-*.npz"))
TRPO = sorted(FOLDER.glob("trpo-*.npz"))


@pytest.mark.parametrize("path", [*PPO, *TRPO], ids=lambda path: path.stem)
def test_a_slot_is_judged_as_their_buffer_judges_it(path):
    sb3_checks.check_judgement(sb3_checks.load(path))


@pytest.mark.parametrize("path", PPO, ids=lambda path: path.stem)
def test_loss_and_gradient_of_ppo_are_theirs(path):
    sb3_checks.check_ppo_gradient(sb3_checks.load(path))


@pytest.mark.parametrize("path", PPO, ids=lambda path: path.stem)
def test_passes_over_the_same_minibatches_lead_where_theirs_lead(path):
    sb3_checks.check_ppo_update(sb3_checks.load(path))


@pytest.mark.parametrize("path", TRPO, ids=lambda path: path.stem)
def test_gradient_and_curvature_of_trpo_are_theirs(path):
    sb3_checks.check_trust_region(sb3_checks.load(path))


@pytest.mark.parametrize("path", TRPO, ids=lambda path: path.stem)
def test_steps_of_trpo_lead_where_theirs_lead(path):
    sb3_checks.check_trpo_update(sb3_checks.load(path))


def test_every_case_was_recorded():
    assert len(PPO) == 4 and len(TRPO) == 3
