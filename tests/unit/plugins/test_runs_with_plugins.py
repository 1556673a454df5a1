"""Runs with the user's own method, algorithm and world: trained, resumed, evaluated and read."""

import hashlib
import shutil
import sys

import numpy as np
import pytest

from fmarl.algorithms.registry import own_config
from fmarl.engine.engine import LocalEngine
from fmarl.engine.evaluate_run import evaluate_run
from fmarl.engine.experiment import with_method
from fmarl.engine.run import begin, read_experiment, resume, train
from fmarl.engine.train import Training
from fmarl.errors import BadInput
from fmarl.federation.make_method import make_method
from fmarl.federation.method_file import method_from_text, method_to_text
from fmarl.federation.parse import read_attack
from fmarl.federation.recipes import MethodConfig
from fmarl.federation.run_labels import label_of
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.run_list import summarise
from fmarl.report.run_reader import read_recorded_run
from fmarl.user_code import UserCodeFailed
from fmarl.web.run_facts import about_run
from unit.engine.small_experiments import toy
from unit.plugins.own_code import EXAMPLES, own_experiment

OWN = ("own_method", "own_algorithm", "own_world")


@pytest.fixture(autouse=True)
def in_a_folder_with_own_code(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in OWN:
        shutil.copy(EXAMPLES / f"{name}.py", tmp_path)
        sys.modules.pop(name, None)
    monkeypatch.chdir(tmp_path)


def test_a_run_of_plugins_is_recorded_resumed_and_evaluated(tmp_path):
    run = train(own_experiment(), "run")
    described = read_run(tmp_path / "run")["plugins"]
    assert [one["word"] for one in described] == [
        "own_method:random_half",
        "own_algorithm:make_a2c",
        "own_world:Agreement",
    ]
    digest = hashlib.sha256((tmp_path / "own_method.py").read_bytes()).hexdigest()
    assert described[0]["sha256"] == digest
    assert resume("run").digest == run.digest
    experiment = read_experiment(tmp_path / "run")
    assert experiment == own_experiment()
    assert len(evaluate_run(tmp_path / "run", experiment, 2, seed=1).rewards) == 2


def test_a_run_whose_code_has_changed_goes_on_and_says_so(tmp_path):
    folder = begin(own_experiment(), "run")
    with (tmp_path / "own_method.py").open("a") as file:
        file.write("# changed\n")
    resume(folder)
    [event] = [
        one
        for one in read_lines(RunFolder(folder).events).records
        if one["code"] == "PLUGIN_CHANGED"
    ]
    assert "own_method.py is not as it was" in event["detail"]


def test_a_run_whose_code_is_elsewhere_says_where_it_was(tmp_path, monkeypatch):
    folder = begin(own_experiment(), tmp_path / "run")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(tmp_path)])
    with pytest.raises(BadInput, match=f"it was {tmp_path / 'own_method.py'}"):
        resume(folder)


def test_reading_a_run_imports_no_plugin(tmp_path):
    train(own_experiment(), "run")
    for name in OWN:
        sys.modules.pop(name, None)
        (tmp_path / f"{name}.py").unlink()
    experiment = read_experiment(tmp_path / "run")
    assert experiment.together.set_method == ("share=0.4",)
    assert about_run(RunFolder(tmp_path / "run"), "run")
    assert label_of(read_recorded_run(tmp_path / "run", "run").settings).startswith("own_method")
    assert summarise(tmp_path / "run").problem == ""
    assert not {*OWN} & {*sys.modules}


def test_a_bug_in_an_algorithm_is_told_as_the_users_own(tmp_path):
    path = tmp_path / "own_algorithm.py"
    path.write_text(path.read_text().replace("jax.grad(loss", "jax.gradient(loss"))
    with pytest.raises(UserCodeFailed, match="own_algorithm:make_a2c in local_update") as problem:
        train(own_experiment(), "run")
    assert "own_algorithm.py" in problem.value.failure.traceback


def test_settings_of_an_own_algorithm_are_checked_by_its_dataclass():
    assert own_config("own_algorithm:make_a2c", ["value_weight=2"]).value_weight == 2
    with pytest.raises(BadInput, match="unknown setting 'entropy_wait'"):
        own_config("own_algorithm:make_a2c", ["entropy_wait=1"])
    with pytest.raises(BadInput, match="first parameter is of type"):
        own_config("own_world:Agreement", [])
    with pytest.raises(BadInput, match="it is for algorithms of your own"):
        toy(set_algorithm=("passes=2",))


@pytest.fixture
def own_made_method():
    weights = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]])
    return make_method(
        3,
        learning_rate=0.01,
        sync_period=3,
        local_updates=np.array([[3, 2, 1], [0, 1, 3]]),
        decay=np.array([1, 0.7, 0.1 + 0.2]),
        mixing=np.stack([weights, weights]),
        counted=np.array([[1, 0.5, 0.25], [0, 1, 1]]),
        attack=read_attack("noise:1:0.5", 3),
    )


def test_a_method_made_in_python_is_recorded_as_a_whole(own_made_method):
    again = method_from_text(method_to_text(own_made_method))
    assert method_to_text(again) == method_to_text(own_made_method)
    for name in ("local_updates", "decay", "mixing", "groups", "counted", "edge_agents"):
        one, other = getattr(own_made_method, name), getattr(again, name)
        assert one.dtype == other.dtype and np.array_equal(one, other), name


def test_a_run_with_a_method_made_in_python_resumes_to_the_same_bits(own_made_method, tmp_path):
    experiment = toy(together=MethodConfig(), num_epochs=2)
    whole = train(experiment, "whole", method=own_made_method)
    folder = begin(with_method(experiment, own_made_method), "half")
    assert read_run(folder)["experiment"]["together"]["method"] == "given"
    assert resume(folder).digest == whole.digest
    assert evaluate_run(folder, read_experiment(folder), 1, seed=1).rewards
    with Training(with_method(experiment, own_made_method), LocalEngine) as training:
        assert np.array_equal(training.schedule.method.mixing, own_made_method.mixing)


def test_a_method_made_in_python_that_does_not_fit_is_refused(own_made_method):
    with pytest.raises(BadInput, match="settings of learning together beside a method"):
        with_method(toy(), own_made_method)
    other = toy(together=MethodConfig(), set=("num_agents=2",))
    with pytest.raises(BadInput, match="a method of 3 agents in a world of 2"):
        train(other, "run", method=own_made_method)
    with pytest.raises(BadInput, match="method given is for Python"):
        toy(together=MethodConfig(method="given"))
