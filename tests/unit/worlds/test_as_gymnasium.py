import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from fmarl.errors import BadInput
from fmarl.worlds.as_gymnasium import SingleAgentEnv, register
from fmarl.worlds.gymnasium_world import gymnasium_world
from fmarl.worlds.toy import quadratic_world


@pytest.mark.filterwarnings("ignore:.*infinity")  # a world does not tell its bounds
def test_a_road_passes_gymnasiums_own_check():
    register()
    register()
    with gymnasium.make("fmarl/FigureEight-v0", epoch_steps=20) as env:
        check_env(env.unwrapped, skip_render_check=True, skip_close_check=True)


def test_one_policy_sees_and_drives_all_agents():
    register()
    with gymnasium.make("fmarl/Merge-v0", warm_up_steps=300, epoch_steps=5) as env:
        observation, _ = env.reset(seed=1)
        assert observation.shape == (30,)
        steps = [env.step(np.ones(5, dtype=np.float32)) for _ in range(5)]
        assert [step[3] for step in steps] == [False] * 4 + [True]
        assert all(0 < float(step[1]) < 1 for step in steps)


def test_seeds_repeat_and_later_epochs_differ():
    env = SingleAgentEnv(lambda: quadratic_world(2, reward_noise=1.0, epoch_steps=3))
    action = np.zeros(2, dtype=np.float32)

    def rewards(seed: int | None) -> list[float]:
        env.reset(seed=seed)
        return [env.step(action)[1] for _ in range(3)]

    first, second = rewards(7), rewards(None)
    assert first != second
    assert (rewards(7), rewards(None)) == (first, second)


def test_choices_are_refused_with_the_way_out():
    with pytest.raises(BadInput, match="parallel view"):
        SingleAgentEnv(lambda: gymnasium_world("CartPole-v1"))
