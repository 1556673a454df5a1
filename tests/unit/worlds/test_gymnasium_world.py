"""Gymnasium environments as worlds, and the spaces through which numbers cross."""

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from fmarl.errors import BadInput
from fmarl.user_code import UserCodeFailed
from fmarl.worlds.check import check_world
from fmarl.worlds.gymnasium_world import gymnasium_world
from fmarl.worlds.spaces import action_decoder, derived_seed, observation_encoder, read_observation
from fmarl.worlds.world import Step, World


class Odd(gymnasium.Env):
    """An environment that does what others do wrong."""

    made = 0
    closed = 0

    def __init__(
        self,
        observation: Any = 0.0,
        reward: Any = 0.0,
        ends: tuple[bool, bool] = (False, False),
        action_space: gymnasium.Space | None = None,
        observation_space: gymnasium.Space | None = None,
        fails_at: int | None = None,
    ) -> None:
        if Odd.made == fails_at:
            raise RuntimeError("no more\ncopies")
        Odd.made += 1
        self.observation_space = observation_space or spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = action_space or spaces.Discrete(2)
        self.observation, self.reward, self.ends = observation, reward, ends

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(2), {}  # float64, where the space says float32

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        seen = np.array([0.0, self.observation])
        return seen, self.reward, *self.ends, {}

    def close(self) -> None:
        Odd.closed += 1


def needs_more(**options: Any) -> gymnasium.Env:
    raise gymnasium.error.DependencyNotInstalled("run `pip install more`\nfirst.")


gymnasium.register("FmarlOdd-v0", entry_point=lambda **options: Odd(**options))
gymnasium.register("FmarlNeedsMore-v0", entry_point=needs_more)


def act(world: World, number: float = 0.0) -> Step:
    shape = (world.spec.num_agents, world.spec.action_size)
    return world.step(np.full(shape, number, dtype=np.float32))


def refusal(call: Any) -> str:
    with pytest.raises(BadInput) as refused:
        call()
    message = str(refused.value)
    assert "\n" not in message and len(message) < 500
    return message


@pytest.mark.parametrize(
    ("env_id", "observation_size", "num_actions", "is_discrete"),
    [
        ("CartPole-v1", 4, 2, True),
        ("Pendulum-v1", 3, 1, False),
        ("FrozenLake-v1", 16, 4, True),
        ("Blackjack-v1", 32 + 11 + 2, 2, True),
        ("Taxi-v4", 500, 6, True),
    ],
)
def test_registered_environments_keep_the_promises_of_worlds(
    env_id, observation_size, num_actions, is_discrete
):
    check_world(lambda: gymnasium_world(env_id, num_agents=2, epoch_steps=60), steps=130)

    with gymnasium_world(env_id) as world:
        spec = world.spec
    assert (spec.name, spec.num_agents, spec.epoch_steps) == (f"gym:{env_id}", 1, 1000)
    assert spec.observation_size == observation_size
    assert (spec.num_actions, spec.is_discrete) == (num_actions, is_discrete)


def test_a_fallen_pole_is_seen_as_it_fell_and_then_stands_again():
    with gymnasium_world("CartPole-v1", num_agents=2, epoch_steps=500) as world:
        world.reset(seed=7)
        steps = [act(world)]
        while not steps[-1].terminated[1]:
            steps.append(act(world))
        after = act(world)

    alone = gymnasium.make("CartPole-v1")
    alone.reset(seed=derived_seed(7, 1, 0))
    for step in steps:
        seen, reward, terminated, _, _ = alone.step(0)
        np.testing.assert_array_equal(step.successor[1], seen)
        assert (step.reward[1], step.terminated[1]) == (reward, terminated)
    fresh, _ = alone.reset(seed=derived_seed(7, 1, 1))
    np.testing.assert_array_equal(steps[-1].observation[1], fresh)
    assert abs(steps[-1].successor[1, 2]) > 0.2 > abs(fresh[2])  # the pole's angle
    assert not steps[-1].over and not after.terminated[1]
    np.testing.assert_array_equal(after.successor[1], alone.step(0)[0])


def test_a_time_limit_truncates_and_restarts():
    with gymnasium_world("Pendulum-v1", epoch_steps=7, max_episode_steps=3) as world:
        world.reset(seed=0)
        steps = [act(world) for _ in range(7)]

    assert [bool(step.truncated[0]) for step in steps] == [False, False, True] * 2 + [True]
    assert [step.over for step in steps] == [False] * 6 + [True]
    restarted = [np.any(step.observation != step.successor) for step in steps]
    assert restarted == [False, False, True] * 2 + [False]
    assert not any(step.terminated[0] for step in steps)


def test_copies_begin_differently_from_each_other_and_from_their_last_time():
    with gymnasium_world("CartPole-v1", num_agents=3) as world:
        first, second = world.reset(seed=0), world.reset(seed=1)
    assert len({row.tobytes() for row in [*first, *second]}) == 6


def test_the_ends_of_our_actions_are_the_ends_of_theirs():
    with gymnasium_world("Pendulum-v1") as world:
        world.reset(seed=3)
        step = act(world, 5.0)  # clipped to 1

    alone = gymnasium.make("Pendulum-v1")
    alone.reset(seed=derived_seed(3, 0, 0))
    seen, reward, *_ = alone.step(np.array([2.0], dtype=np.float32))
    np.testing.assert_array_equal(step.successor[0], seen)
    assert step.reward[0] == np.float32(reward)


def test_an_episode_both_terminated_and_truncated_counts_as_terminated():
    with gymnasium_world("FmarlOdd-v0", ends=(True, True)) as world:
        world.reset(seed=0)
        step = act(world)
    assert step.terminated[0] and not step.truncated[0]


def test_values_outside_their_box_and_rewards_in_arrays_are_accepted():
    with gymnasium_world("FmarlOdd-v0", observation=1e6, reward=np.array([2.0])) as world:
        world.reset(seed=0)
        step = act(world)
    assert step.observation.tolist() == [[0.0, 1e6]]
    assert step.reward.tolist() == [2.0]


@pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e300])
def test_garbage_is_refused_before_an_agent_sees_it(garbage):
    for options in ({"observation": garbage}, {"reward": garbage}):
        with gymnasium_world("FmarlOdd-v0", num_agents=2, **options) as world:
            world.reset(seed=0)
            assert "agent 0" in refusal(lambda: act(world))
            assert "reset" in refusal(lambda: act(world))  # half a step happened
            world.reset(seed=1)


@pytest.mark.parametrize("reward", [None, "much", np.zeros(2), {}])
def test_rewards_that_are_no_number_are_refused(reward):
    with gymnasium_world("FmarlOdd-v0", reward=reward) as world:
        world.reset(seed=0)
        assert "reward of agent 0" in refusal(lambda: act(world))


@pytest.mark.parametrize("space", [spaces.MultiDiscrete([2, 2]), spaces.Text(3)])
def test_action_spaces_that_do_not_fit_are_named(space):
    message = refusal(lambda: gymnasium_world("FmarlOdd-v0", action_space=space))
    assert str(space) in message and "Box or Discrete" in message


@pytest.mark.parametrize(
    "space",
    [spaces.Text(3), spaces.Dict(a=spaces.Sequence(spaces.Discrete(2))), spaces.Box(0, 1, (0,))],
)
def test_observation_spaces_that_do_not_fit_are_refused(space):
    closed = Odd.closed
    refusal(lambda: gymnasium_world("FmarlOdd-v0", num_agents=3, observation_space=space))
    assert Odd.closed == closed + 3


@pytest.mark.parametrize("high", [[np.inf, np.inf], [1.0, np.inf]])
def test_actions_without_bounds_are_refused_with_a_fix(high):
    space = spaces.Box(np.array([-1.0, -1.0]), np.array(high), dtype=np.float64)
    assert "RescaleAction" in refusal(lambda: action_decoder(space))


def test_copies_made_before_one_fails_are_closed():
    made, closed = Odd.made, Odd.closed
    with pytest.raises(UserCodeFailed, match="no more copies") as failed:
        gymnasium_world("FmarlOdd-v0", num_agents=5, fails_at=made + 2)
    assert failed.value.failure.place.startswith("tests/unit/worlds/test_gymnasium_world.py:")
    assert (Odd.made - made, Odd.closed - closed) == (2, 2)


def test_unknown_ids_are_answered_with_known_ones():
    assert "CartPole-v1" in refusal(lambda: gymnasium_world("CartPol-v1"))
    assert "Taxi-v4" in refusal(lambda: gymnasium_world("Taxi-v99"))
    assert "CartPole-v1" in refusal(lambda: gymnasium_world("zzzzzzzz"))
    refusal(lambda: gymnasium_world(""))
    message = refusal(lambda: gymnasium_world("no_such_package:Thing-v0"))
    assert "'no_such_package' is not found" in message and "pip install" not in message
    refusal(lambda: gymnasium_world("a bad\nid!"))


def test_what_make_complains_of_is_passed_on():
    assert "wings" in refusal(lambda: gymnasium_world("CartPole-v1", wings=2))
    assert "run `pip install more` first" in refusal(lambda: gymnasium_world("FmarlNeedsMore-v0"))


@pytest.mark.parametrize("size", [{"num_agents": 0}, {"num_agents": 10**9}, {"epoch_steps": 0}])
def test_sizes_out_of_range_are_refused(size):
    assert next(iter(size)) in refusal(lambda: gymnasium_world("CartPole-v1", **size))


def test_a_closed_world_does_not_begin_again():
    world = gymnasium_world("CartPole-v1")
    world.close()
    assert "closed" in refusal(lambda: world.reset(seed=0))


def test_learners_can_import_worlds_without_gymnasium_and_pettingzoo():
    names = "check", "gymnasium_world", "pettingzoo_world", "spaces", "toy", "world"
    lines = [f"import fmarl.worlds.{name}" for name in names]
    lines += ["import sys", "assert not {'gymnasium', 'pettingzoo', 'scipy'} & set(sys.modules)"]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_seeds_below_zero_are_refused():
    with gymnasium_world("CartPole-v1") as world:
        assert "seed = -1" in refusal(lambda: world.reset(seed=-1))


@pytest.mark.parametrize(
    "action", [np.zeros(2), np.zeros((2, 1), dtype=complex), np.full((2, 1), "0")]
)
def test_actions_of_another_rank_or_type_are_refused(action):
    with gymnasium_world("CartPole-v1", num_agents=2) as world:
        world.reset(seed=0)
        refusal(lambda: world.step(action))


@pytest.mark.parametrize("choice", [0.5, -1.0, 2.0, 1e30, np.nan])
def test_choices_that_are_none_are_refused_with_their_agent(choice):
    action = np.array([[0.0], [choice]], dtype=np.float32)
    with gymnasium_world("CartPole-v1", num_agents=2) as world:
        world.reset(seed=0)
        assert "agent 1" in refusal(lambda: world.step(action))


FLATTENED = [
    spaces.Box(-1, 1, (2, 3), np.float64),
    spaces.Box(0, 255, (2, 2, 3), np.uint8),
    spaces.Box(-1, 1, (), np.float32),
    spaces.Discrete(5, start=-2),
    spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
    spaces.MultiBinary((2, 2)),
    spaces.Tuple([spaces.Discrete(3), spaces.Dict(b=spaces.MultiBinary(2), a=spaces.Discrete(2))]),
]


@pytest.mark.parametrize("space", FLATTENED, ids=str)
def test_observations_are_flattened_as_gymnasium_does(space):
    space.seed(0)
    form = observation_encoder(space)
    assert form.size == spaces.flatdim(space)
    for _ in range(20):
        value = space.sample()
        row = read_observation(form, value, "agent 0")
        assert row.dtype == np.float32
        np.testing.assert_array_equal(row, np.asarray(spaces.flatten(space, value), np.float32))


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (spaces.Discrete(3), -1),
        (spaces.Discrete(3), 3),
        (spaces.Discrete(3), None),
        (spaces.Discrete(3), np.nan),
        (spaces.Discrete(3), [0, 1]),
        (spaces.MultiDiscrete([2, 3]), [0, 3]),
        (spaces.Box(-1, 1, (2,)), [0.0, 0.0, 0.0]),
        (spaces.Box(-1, 1, (2,)), "ab"),
        (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), (0,)),
        (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), 0),
        (spaces.Dict(a=spaces.Discrete(2)), {"b": 0}),
    ],
)
def test_observations_that_are_not_of_their_space_are_refused(space, value):
    form = observation_encoder(space)
    assert "agent 3" in refusal(lambda: read_observation(form, value, "agent 3"))


@given(
    row=st.lists(st.floats(-3, 3, width=32), min_size=4, max_size=4),
    kind=st.sampled_from([np.float32, np.float64, np.int16, np.uint8]),
)
def test_decoded_actions_are_always_of_their_space(row, kind):
    space = spaces.Box(0, 200, (2, 2), kind)
    action = action_decoder(space).decode(np.array(row, dtype=np.float32))
    assert space.contains(action)


def test_the_widest_box_can_be_crossed():
    widest = np.finfo(np.float64).max
    decode = action_decoder(spaces.Box(-widest, widest, (3,), np.float64)).decode
    ends = decode(np.array([-1, 0, 1], dtype=np.float32))
    assert ends.tolist() == [-widest, 0.0, widest]


def test_choices_start_where_their_space_does():
    form = action_decoder(spaces.Discrete(3, start=5))
    assert form.num_actions == 3
    assert [form.decode(np.array([k], dtype=np.float32)) for k in range(3)] == [5, 6, 7]


def test_more_choices_than_float32_can_count_are_refused():
    assert "choices" in refusal(lambda: action_decoder(spaces.Discrete(2**24 + 1)))
