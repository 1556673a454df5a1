"""PettingZoo environments as worlds; two small ones, made here, whose agents come and go."""

import os
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from mpe2 import simple_spread_v3
from pettingzoo import ParallelEnv
from pettingzoo.utils import parallel_to_aec

from fmarl.errors import BadInput
from fmarl.user_code import UserCodeFailed
from fmarl.worlds.as_pettingzoo import WorldParallelEnv
from fmarl.worlds.check import check_world
from fmarl.worlds.module_search import not_found
from fmarl.worlds.pettingzoo_world import pettingzoo_world
from fmarl.worlds.spaces import derived_seed
from fmarl.worlds.world import Step, World


class Party(ParallelEnv):
    """Guest k arrives at `arrives[k]` and has left by `leaves[k]`, as `how` says."""

    metadata = {"name": "party"}  # noqa: RUF012 — PettingZoo's way

    def __init__(
        self,
        arrives: tuple[int, ...] = (0, 0, 0),
        leaves: tuple[int, ...] = (3, 5, 4),
        how: str = "terminated",
        last_look: bool = True,
        sizes: tuple[int, ...] = (2, 2, 2),
        choices: tuple[int, ...] = (2, 2, 2),
    ) -> None:
        self.possible_agents = [f"guest_{k}" for k in range(len(leaves))]
        self.arrives = dict(zip(self.possible_agents, arrives, strict=True))
        self.leaves = dict(zip(self.possible_agents, leaves, strict=True))
        self.how, self.last_look, self.closed = how, last_look, False
        self.looks = {
            name: spaces.Box(0, 1, (size,))
            for name, size in zip(self.possible_agents, sizes, strict=True)
        }
        self.moves = {
            name: spaces.Discrete(n) for name, n in zip(self.possible_agents, choices, strict=True)
        }

    def observation_space(self, agent: str) -> spaces.Box:
        return self.looks[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self.moves[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.random = np.random.default_rng(seed)
        self.time = 0
        self.agents = self.here()
        return self.look(self.agents), {name: {} for name in self.agents}

    def step(self, actions: dict[str, Any]) -> Any:
        assert set(actions) == set(self.agents)
        acted, self.time = self.agents, self.time + 1
        self.agents = self.here()
        gone = {name: name not in self.agents for name in acted}
        stays = dict.fromkeys(acted, False)
        seen = {*self.agents, *(acted if self.last_look else [])}
        return (
            self.look(sorted(seen)),
            {name: float(actions[name]) + 1 for name in acted},
            gone if self.how == "terminated" else stays,
            gone if self.how == "truncated" else stays,
            {name: {} for name in acted},
        )

    def here(self) -> list[str]:
        return [
            name
            for name in self.possible_agents
            if self.arrives[name] <= self.time < self.leaves[name]
        ]

    def look(self, names: list[str]) -> dict[str, np.ndarray]:
        return {name: self.random.uniform(0.1, 1, self.looks[name].shape) for name in names}

    def close(self) -> None:
        assert not self.closed, "closed twice"
        self.closed = True


class Empty(Party):
    def here(self) -> list[str]:
        return []


class Drawn(Party):
    render_mode = None


class Short(Party):
    def step(self, actions: dict[str, Any]) -> Any:
        return super().step(actions)[:4]


MODULES = {
    "fmarl_party": Party,
    "fmarl_empty": Empty,
    "fmarl_nothing": None,
    "fmarl_short": Short,
    "fmarl_five": lambda: 5,
    "fmarl_turns": lambda: parallel_to_aec(Drawn()),
}


@pytest.fixture(autouse=True)
def party_module(monkeypatch):
    for name, make in MODULES.items():
        module = ModuleType(name)
        if make is not None:
            module.__dict__["parallel_env"] = make
        monkeypatch.setitem(sys.modules, name, module)


def play(world: World, steps: int) -> list[Step]:
    rows = np.ones((world.spec.num_agents, world.spec.action_size), dtype=np.float32)
    world.reset(seed=0)
    return [world.step(rows) for _ in range(steps)]


def refusal(call: Any) -> str:
    with pytest.raises(BadInput) as refused:
        call()
    message = str(refused.value)
    assert "\n" not in message and len(message) < 500
    return message


@pytest.mark.parametrize("continuous", [False, True])
def test_simple_spread_keeps_the_promises_of_worlds(continuous):
    name = "mpe2.simple_spread_v3"
    check_world(
        lambda: pettingzoo_world(name, continuous_actions=continuous, max_cycles=20), steps=70
    )
    check_world(
        lambda: pettingzoo_world(name, epoch_steps=10, continuous_actions=continuous), steps=30
    )
    with pettingzoo_world(name, continuous_actions=continuous) as world:
        spec = world.spec
    assert spec.name == "pettingzoo:mpe2.simple_spread_v3"
    assert (spec.num_agents, spec.observation_size, spec.num_actions) == (3, 18, 5)
    assert spec.is_discrete is not continuous


@pytest.mark.parametrize("how", ["terminated", "truncated", "in silence"])
@pytest.mark.parametrize("arrives", [(0, 0, 0), (0, 2, 1)])
def test_parties_keep_the_promises_of_worlds(how, arrives):
    for epoch_steps in (4, 50):
        check_world(
            lambda: pettingzoo_world("fmarl_party", epoch_steps, how=how, arrives=arrives),  # noqa: B023
            steps=20,
        )


def test_rows_are_what_the_environment_itself_gives():
    env = simple_spread_v3.parallel_env(continuous_actions=True)
    seen, _ = env.reset(seed=derived_seed(5))
    with pettingzoo_world("mpe2.simple_spread_v3", continuous_actions=True) as world:
        np.testing.assert_array_equal(world.reset(seed=5), list(seen.values()))
        step = world.step(np.full((3, 5), 0.5, dtype=np.float32))
    action = np.full(5, 0.75, dtype=np.float32)  # half way between the middle and the upper end
    seen, rewards, *_ = env.step(dict.fromkeys(env.agents, action))
    np.testing.assert_array_equal(step.observation, list(seen.values()))
    np.testing.assert_array_equal(step.reward, np.array(list(rewards.values()), np.float32))


def test_who_dies_is_absent_until_the_epoch_is_over():
    with pettingzoo_world("fmarl_party") as world:
        steps = play(world, 5)

    present = [step.present.tolist() for step in steps]
    assert present == [[True] * 3] * 3 + [[False, True, True], [False, True, False]]
    ended = [step.terminated.tolist() for step in steps]
    assert ended[2:] == [[True, False, False], [False, False, True], [False, True, False]]
    assert [step.over for step in steps] == [False] * 4 + [True]
    assert steps[2].successor[0].any() and not steps[3].observation[0].any()
    assert steps[3].reward.tolist() == [0.0, 2.0, 2.0]
    assert not any(step.truncated.any() for step in steps)


def test_the_time_limit_truncates_only_who_is_there():
    with pettingzoo_world("fmarl_party", epoch_steps=4) as world:
        last = play(world, 4)[-1]
    assert last.over
    assert last.terminated.tolist() == [False, False, True]
    assert last.truncated.tolist() == [False, True, False]


def test_who_leaves_in_silence_is_truncated():
    with pettingzoo_world("fmarl_party", how="in silence") as world:
        steps = play(world, 3)
    assert steps[2].truncated.tolist() == [True, False, False]


def test_who_arrives_late_finds_its_first_observation_and_acts_next():
    with pettingzoo_world("fmarl_party", arrives=(0, 2, 0)) as world:
        steps = play(world, 3)
    assert [bool(step.present[1]) for step in steps] == [False, False, True]
    assert [bool(step.observation[1].any()) for step in steps] == [False, True, True]
    assert not steps[1].successor[1].any()


def test_a_terminated_agent_may_leave_without_a_last_look_but_a_truncated_one_may_not():
    with pettingzoo_world("fmarl_party", last_look=False) as world:
        assert not play(world, 3)[2].successor[0].any()
    with pettingzoo_world("fmarl_party", last_look=False, how="truncated") as world:
        assert "guest_0" in refusal(lambda: play(world, 3))


def test_a_party_seen_through_pettingzoo_again_keeps_its_guests_to_the_end():
    with warnings.catch_warnings():  # PettingZoo 1.27 warns of its own old names
        warnings.simplefilter("ignore", DeprecationWarning)
        from pettingzoo.test import parallel_api_test
    env = WorldParallelEnv(pettingzoo_world("fmarl_party"))
    parallel_api_test(env)

    env.reset(seed=0)
    for time in range(5):
        assert env.agents == ["agent_0", "agent_1", "agent_2"]
        seen, rewards, *ends, infos = env.step(dict.fromkeys(env.agents, 1))
        assert infos["agent_0"]["present"] == (time < 3) == bool(rewards["agent_0"])
        assert infos["agent_0"]["terminated"] == (time == 2)
        assert seen["agent_0"].any() == (time < 3)
        assert any(end["agent_0"] for end in ends) == (time == 4)
    assert env.agents == []


def test_agents_that_differ_are_named():
    message = refusal(lambda: pettingzoo_world("fmarl_party", sizes=(2, 2, 3)))
    assert "guest_0 seeing 2" in message and "guest_2 seeing 3" in message
    message = refusal(lambda: pettingzoo_world("fmarl_party", choices=(2, 4, 2)))
    assert "guest_0" in message and "guest_1 with 4 choices" in message
    refusal(lambda: pettingzoo_world("mpe2.simple_tag_v3"))


def test_an_epoch_without_agents_is_refused():
    with pettingzoo_world("fmarl_empty") as world:
        assert "without agents" in refusal(lambda: world.reset(seed=0))


def test_a_closed_world_does_not_begin_again():
    world = pettingzoo_world("fmarl_party")
    world.close()
    world.close()
    assert "closed" in refusal(lambda: world.reset(seed=0))


@pytest.mark.parametrize("module", ["", ".mpe2", "a..b", "os;x", "../x", "x y", "x\n", "é", "1a"])
def test_only_dotted_names_are_imported(module):
    assert "names joined by dots" in refusal(lambda: pettingzoo_world(module))


def test_modules_that_do_not_serve_are_refused_with_a_way_out():
    message = refusal(lambda: pettingzoo_world("no_such_zoo.cats_v1"))
    assert f"neither in {os.getcwd()} nor" in message and "pip install" not in message
    assert "parallel_env" in refusal(lambda: pettingzoo_world("fmarl_nothing"))
    assert "mpe2" in refusal(lambda: pettingzoo_world("pettingzoo.mpe.simple_spread_v3"))
    assert "wings" in refusal(lambda: pettingzoo_world("fmarl_party", wings=2))
    assert "epoch_steps" in refusal(lambda: pettingzoo_world("fmarl_party", 0))
    assert "possible_agents" in refusal(
        lambda: pettingzoo_world("fmarl_party", arrives=(), leaves=(), sizes=(), choices=())
    )


def test_a_step_of_four_values_is_refused_and_located():
    with pettingzoo_world("fmarl_short") as world:
        message = refusal(lambda: play(world, 1))
    assert "step of the environment returned 4 values" in message
    assert "test_pettingzoo_world.py:" in message


def test_what_is_no_parallel_environment_is_refused():
    assert "returns a int without reset" in refusal(lambda: pettingzoo_world("fmarl_five"))
    assert "aec_to_parallel" in refusal(lambda: pettingzoo_world("fmarl_turns"))


def test_a_module_of_the_current_folder_comes_first(tmp_path, monkeypatch):
    (tmp_path / "fmarl_here.py").write_text("def parallel_env():\n    raise OSError('no card')\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserCodeFailed, match=r"OSError: no card \(fmarl_here.py:2\)"):
        pettingzoo_world("fmarl_here")
    monkeypatch.delitem(sys.modules, "fmarl_here")


@pytest.mark.parametrize(
    ("module", "fix"), [("mpe2x", "Check its spelling"), ("ale_py.x", "ale-py")]
)
def test_only_known_packages_are_suggested_for_installation(module, fix):
    message = str(not_found(module, ModuleNotFoundError(name=module)))
    assert fix in message and ("pip install" in message) == (fix == "ale-py")
