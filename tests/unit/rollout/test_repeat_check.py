import pytest

from fmarl.errors import BadInput
from fmarl.rollout import repeat_check
from fmarl.rollout.pool import WorldPool
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.repeat_check import play_beginning, require_repeats
from fmarl.rollout.restarts import RestartPolicy
from python_path import python_path


@pytest.fixture(autouse=True)
def worlds_of_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", python_path())


def tiny(**options):
    return WorldMaker("tiny", options, "unit.rollout.tiny_world:make")


def test_a_world_that_repeats_itself_passes():
    with WorldPool([tiny()], run_seed=4) as pool:
        require_repeats(pool, tiny(), 4)


@pytest.mark.parametrize(
    ("memory", "when"), [("own", "with the same seed in another process"), ("of resets", "seed. A")]
)
def test_one_that_remembers_what_it_should_not_is_refused(memory, when):
    maker = tiny(memory=memory)
    with (
        WorldPool([maker], run_seed=4) as pool,
        pytest.raises(BadInput, match="when it is played again") as refusal,
    ):
        require_repeats(pool, maker, 4)
    assert when in str(refusal.value) and "--no-resume-promise" in str(refusal.value)


def test_a_slow_world_is_played_for_few_steps(monkeypatch):
    monkeypatch.setattr(repeat_check, "PLAY_SECONDS", 0.1)
    with WorldPool([tiny(spin_seconds=0.05)], run_seed=4, restarts=RestartPolicy()) as pool:
        assert len(play_beginning(pool).over) == repeat_check.FIRST_STEPS
