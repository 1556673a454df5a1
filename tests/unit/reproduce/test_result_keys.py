"""Equal experiments have equal names, and code that a run executes has a hash."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.reproduce.result_keys import code_fingerprint, key_of, reached_modules, statements

LOADED = """
import sys
import fmarl.engine.run, fmarl.rollout.play, fmarl.worlds.registry
from fmarl.engine.run import train
from fmarl.engine.experiment import Experiment, describe_experiment
train(Experiment(world="toy-bumpy", set=("num_agents=2", "epoch_steps=20"), num_epochs=1,
      steps_per_update=20, test_repetitions=1), sys.argv[1])
print(*(name for name in sys.modules if name.split(".")[0] == "fmarl"))
"""


def test_settings_that_differ_give_other_keys():
    changed = [Experiment(seed=1), Experiment(num_epochs=2), Experiment(world="merge")]
    keys = {key_of(one) for one in [Experiment(), *changed]}
    assert len(keys) == 4


def test_a_setting_that_came_later_counts_where_it_changes_something():
    before = replace(Experiment(), baseline=False)
    assert key_of(replace(before, baseline=True)) != key_of(before)


def test_results_from_before_a_setting_keep_their_names():
    before = replace(Experiment(), baseline=False)
    settings = describe_experiment(before)
    del settings["baseline"]
    for name in ("hierarchy", "aggregate", "tolerated", "attack"):
        del settings["together"][name]
    named = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    assert named.startswith(key_of(before))
    other = replace(before, together=replace(before.together, aggregate="median"))
    assert key_of(other) != key_of(before)


def test_every_module_that_a_real_run_loads_is_in_the_hash(tmp_path: Path):
    words = [sys.executable, "-c", LOADED, str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - {"fmarl.algorithms", "fmarl.federation", "fmarl.records"} <= (
        reached_modules()
    )


def test_reports_and_commands_are_not_in_the_hash():
    outside = ("fmarl.cli", "fmarl.report", "fmarl.reproduce")
    assert [name for name in reached_modules() if name.startswith(outside)] == []


def test_the_hash_is_the_same_each_time():
    assert code_fingerprint() == code_fingerprint()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('"""Other words."""\nx = 1\n', True),
        ("x = 1  # a reason\n", True),
        ("x = 1\n'''What it is.'''\n", True),
        ("x = 2\n", False),
        ("x = 1\ny = 1\n", False),
    ],
)
def test_words_do_not_count_and_code_does(tmp_path: Path, text: str, same: bool):
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text("x = 1\n")
    after.write_text(text)
    assert (statements(before) == statements(after)) == same


def test_a_function_of_words_alone_still_has_a_body(tmp_path: Path):
    path = tmp_path / "module.py"
    path.write_text('class Oops(Exception):\n    """Nothing else."""\n')
    assert "Oops" in statements(path)
