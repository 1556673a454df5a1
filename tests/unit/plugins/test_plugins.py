"""Words for the user's own code: how it is found, and what is said when it can not be used."""

import os
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fmarl import plugins
from fmarl.cli import main
from fmarl.errors import BadInput
from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.plugins import METHOD, WORLD, is_plugin, load, source_of
from fmarl.user_code import UserCodeFailed
from fmarl.worlds.registry import make_world

NUMBER = iter(range(1000))


@pytest.fixture(autouse=True)
def same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module into the current folder, under a name of its own, which it returns."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> str:
        name = f"mine_{os.getpid()}_{next(NUMBER)}"
        Path(f"{name}.py").write_text(text)
        return name

    return write


METHOD_TEXT = """
import fmarl

def plain(config, team, *, scale=1.0):
    return fmarl.make_method(team.num_agents, learning_rate=config.learning_rate * scale)

timed = fmarl.Recipe(uses=("sync_period",), make=lambda config, team: fmarl.make_method(
    team.num_agents, learning_rate=config.learning_rate, sync_period=config.sync_period))

def five(config, team):
    return 5

def few(config, team):
    return fmarl.make_method(2)

def broken(config, team):
    return {}["a key"]

word = "no function"
"""


def made(method: str, **settings):
    return make_from_config(MethodConfig(method=method, **settings), 3, periods=4, seed=0)


def test_a_module_of_the_current_folder_is_found_and_its_options_are_passed_on(module):
    name = module(METHOD_TEXT)
    method = made(f"{name}:plain", set_method=("scale=0.5",), learning_rate=1e-2)
    assert (method.num_agents, float(method.learning_rate)) == (3, 5e-3)


def test_a_recipe_says_which_settings_it_uses_and_the_rest_are_refused(module):
    name = module(METHOD_TEXT)
    assert int(made(f"{name}:timed", sync_period=7).sync_period) == 7
    with pytest.raises(BadInput, match=r"sync_period = 7 is not used by method .*fmarl\.Recipe"):
        made(f"{name}:plain", sync_period=7)
    with pytest.raises(BadInput, match=r"set_method .* is not used by method periodic"):
        made("periodic", set_method=("scale=1",))


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("{}:plane", "Did you mean plain?"),
        ("{}:word", "a function (config: fmarl.MethodConfig"),
        ("{}:five", "returned 5, which is not allowed: it must be a function"),
        ("{}:few", "a method of 2 agents in a world of 3"),
        ("no_such_module_here:plain", "is not found, neither in"),
        ("{}.inner:plain", "is not found"),
        ("os:system", "a module of your own"),
        ("fmarl.cli:main", "a module of your own"),
        ("__main__:main", "a module of your own"),
        ("numpy.testing:runstring", "installed package that offers fmarl nothing"),
        ("perodic", "Did you mean periodic?"),
        ("not-a-module:x", "or MODULE:NAME"),
    ],
)
def test_what_can_not_be_used_is_refused_in_one_line(module, word, line):
    with pytest.raises(BadInput) as problem:
        made(word.format(module(METHOD_TEXT)))
    assert line in str(problem.value) and "\n" not in str(problem.value)


def test_an_option_that_a_method_does_not_take_is_refused(module):
    name = module(METHOD_TEXT)
    with pytest.raises(BadInput, match="unknown setting 'scal'"):
        made(f"{name}:plain", set_method=("scal=2",))
    with pytest.raises(BadInput, match="unknown setting 'team'"):
        made(f"{name}:plain", set_method=("team=2",))


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("def broken(:", "SyntaxError"),
        ("import sys; sys.exit(3)", "SystemExit"),
        (METHOD_TEXT, "KeyError: 'a key'"),
    ],
)
def test_an_error_inside_is_the_users_own_with_no_frame_of_ours(module, text, raised):
    name = module(text)
    with pytest.raises(UserCodeFailed, match=name) as problem:
        made(f"{name}:broken")
    shown = problem.value.failure.traceback
    assert raised in shown and f"{name}.py" in shown
    assert str(plugins.PACKAGE) not in shown and "importlib/__init__" not in shown


def test_an_entry_point_is_a_word_of_its_own(module, monkeypatch):
    name = module(METHOD_TEXT)
    point = EntryPoint("gossip", f"{name}:plain", "fmarl.methods")
    monkeypatch.setattr(
        plugins, "entry_points", lambda group: [point] if group == point.group else []
    )
    assert is_plugin("gossip", METHOD) and not is_plugin("gossip", WORLD)
    assert made("gossip").num_agents == 3
    assert source_of("gossip", METHOD)["module"] == name


def test_asking_for_the_source_imports_nothing(module):
    name = module("raise ZeroDivisionError")
    assert source_of(f"{name}:x", METHOD)["file"].endswith(f"{name}.py")
    assert name not in sys.modules


def test_the_current_folder_is_only_looked_into_for_a_plugin(module):
    name = module(METHOD_TEXT)
    made("periodic", sync_period=2)
    assert os.getcwd() not in sys.path
    load(f"{name}:plain", METHOD)
    assert sys.path[0] == os.getcwd()


WORLD_TEXT = """
import gymnasium
from fmarl.worlds.toy import quadratic_world

class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    def __init__(self, size: int = 1):
        self.size = size
    def reset(self, seed=None, options=None):
        return self.observation_space.sample() * 0, {}
    def step(self, action):
        return self.observation_space.sample() * 0, float(self.size), False, False, {}

def world(num_agents: int = 2):
    return quadratic_world(num_agents=num_agents)

def number():
    return 5
"""


def test_a_world_may_be_ours_or_a_gymnasium_environment(module):
    name = module(WORLD_TEXT)
    with make_world(f"{name}:world", num_agents=4) as world:
        assert world.spec.num_agents == 4
    with make_world(f"{name}:Env", num_agents=3, epoch_steps=20, size=7) as world:
        assert (world.spec.name, world.spec.num_agents) == (f"{name}:Env", 3)
        world.reset(seed=0)
        assert world.step(world.reset(seed=0)[:, :1]).reward.tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("name", "options", "line"),
    [
        ("number", {}, "returned 5, which is not allowed"),
        ("world", {"epoch_steps": 3}, "unknown setting 'epoch_steps'"),
        ("Env", {"sizes": 3}, "Did you mean size?"),
    ],
)
def test_a_world_that_is_none_is_refused(module, name, options, line):
    with pytest.raises(BadInput) as problem:
        make_world(f"{module(WORLD_TEXT)}:{name}", **options)
    assert line in str(problem.value)


@pytest.mark.parametrize("command", ["world", "train"])
def test_a_bug_is_shown_below_one_line_of_ours_and_nothing_is_made(module, capfd, command):
    name = module("def broken():\n    raise KeyError('my own mistake')\n")
    assert main([command, f"{name}:broken"]) == 7
    first, *rest = capfd.readouterr().err.splitlines()
    assert first.startswith(f"fmarl: world {name}:broken") and first.endswith("its own error:")
    assert rest[-1] == "KeyError: 'my own mistake'" and f'{name}.py", line 2' in "".join(rest)
    assert str(plugins.PACKAGE) not in "".join(rest)
    assert not Path("runs").exists()
