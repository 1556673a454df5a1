"""Our worlds under PettingZoo's own tests, and what those tests do not look at."""

import warnings

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.worlds.as_pettingzoo import WorldParallelEnv
from fmarl.worlds.gymnasium_world import gymnasium_world
from fmarl.worlds.pettingzoo_world import pettingzoo_world
from fmarl.worlds.toy import bumpy_world, quadratic_world

with warnings.catch_warnings():  # PettingZoo 1.27 warns of its own old names when it is imported
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import parallel_api_test, parallel_seed_test

WORLDS = {
    "toy": lambda: quadratic_world(3, reward_noise=0.1),
    "bumpy": lambda: bumpy_world(2, reward_noise=0.1, epoch_steps=5),
    "cartpole": lambda: gymnasium_world("CartPole-v1", num_agents=2),
    "pendulum": lambda: gymnasium_world("Pendulum-v1", num_agents=2, epoch_steps=250),
    "spread": lambda: pettingzoo_world("mpe2.simple_spread_v3"),
    "spread, continuous": lambda: pettingzoo_world(
        "mpe2.simple_spread_v3", continuous_actions=True
    ),
}


def sample(env: WorldParallelEnv) -> dict[str, object]:
    return {name: env.action_space(name).sample() for name in env.agents}


def play(env: WorldParallelEnv, seed: int | None, steps: int = 60) -> list[object]:
    """All numbers that an epoch gives, with actions that depend on the seed of their spaces."""
    for number, name in enumerate(env.possible_agents):
        env.action_space(name).seed(number)
    seen, _ = env.reset(seed=seed)
    numbers = [row.tolist() for row in seen.values()]
    for _ in range(steps):
        if not env.agents:
            break
        seen, rewards, terminated, truncated, infos = env.step(sample(env))
        numbers += [row.tolist() for row in seen.values()]
        numbers += [*rewards.values(), *terminated.values(), *truncated.values()]
        numbers += [info["successor"].tolist() for info in infos.values()]
    return numbers


@pytest.mark.parametrize("name", WORLDS)
def test_pettingzoos_own_tests_pass(name):
    make = WORLDS[name]
    parallel_api_test(WorldParallelEnv(make()), num_cycles=1000)
    parallel_seed_test(lambda: WorldParallelEnv(make()))


@pytest.mark.parametrize("name", WORLDS)
def test_whole_epochs_repeat_with_their_seed_and_differ_without(name):
    """PettingZoo's seed test looks at one step only: its `any` counts names, not flags."""
    one, two = WorldParallelEnv(WORLDS[name]()), WorldParallelEnv(WORLDS[name]())
    assert play(one, 5) == play(two, 5)
    without_seed = [play(one, None), play(one, None)]
    assert without_seed == [play(two, None), play(two, None)]
    assert without_seed[0] != without_seed[1]
    assert play(one, 5) == play(two, 5)
    one.close()
    two.close()


@pytest.mark.parametrize("name", WORLDS)
def test_everything_seen_and_done_is_of_its_space(name):
    env = WorldParallelEnv(WORLDS[name]())
    seen, _ = env.reset(seed=0)
    for _ in range(5):
        assert all(env.observation_space(name).contains(row) for name, row in seen.items())
        assert env.state_space.contains(env.state())
        np.testing.assert_array_equal(env.state(), np.concatenate(list(seen.values())))
        seen, *_ = env.step(sample(env))
    env.close()


def test_agents_that_restart_live_until_the_epoch_is_over():
    env = WorldParallelEnv(gymnasium_world("CartPole-v1", num_agents=2, epoch_steps=100))
    env.reset(seed=0)
    falls = 0
    for time in range(100):
        assert env.agents == ["agent_0", "agent_1"]
        seen, _, terminated, truncated, infos = env.step({"agent_0": 0, "agent_1": 1})
        for name, info in infos.items():
            falls += info["terminated"]
            assert np.array_equal(seen[name], info["successor"]) == (
                not info["terminated"] or time == 99
            )
            assert (terminated[name] or truncated[name]) == (time == 99)
    assert falls >= 10
    assert env.agents == []


def test_it_introduces_itself_as_pettingzoo_asks():
    env = WorldParallelEnv(quadratic_world(2))
    assert str(env) == "toy-quadratic"
    assert env.metadata["is_parallelizable"] is True
    assert env.render_mode is None and env.render() is None
    assert (env.num_agents, env.max_num_agents) == (0, 2)
    env.reset()
    assert env.num_agents == 2


@pytest.mark.parametrize(
    "actions",
    [
        {},
        {"agent_0": [0.0]},
        {"agent_0": [0.0], "agent_1": [0.0], "agent_2": [0.0]},
        {"agent_0": [0.0], "agent_1": [0.0, 0.0]},
        {"agent_0": [0.0, 0.0], "agent_1": [0.0, 0.0]},
        {"agent_0": [0.0], "agent_1": [np.nan]},
        {"agent_0": [0.0], "agent_1": [1e300]},
        {"agent_0": [0.0], "agent_1": ["left"]},
        {"agent_0": [0.0], "agent_1": None},
    ],
)
def test_unusable_actions_are_refused_in_one_line(actions):
    env = WorldParallelEnv(quadratic_world(2))
    env.reset(seed=0)
    with pytest.raises(BadInput, match="not allowed") as refused:
        env.step(actions)
    assert "\n" not in str(refused.value)
    env.step(sample(env))


def test_steps_after_the_end_and_seeds_below_zero_are_refused():
    env = WorldParallelEnv(quadratic_world(1, epoch_steps=1))
    env.reset(seed=0)
    env.step({"agent_0": [0.0]})
    with pytest.raises(BadInput, match="reset"):
        env.step({"agent_0": [0.0]})
    with pytest.raises(BadInput, match="seed = -1"):
        env.reset(seed=-1)
