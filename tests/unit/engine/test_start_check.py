"""Nothing is made until it can begin."""

import os
from pathlib import Path

import pytest

from fmarl.engine.run import begin, read_experiment, remove_unbegun, train
from fmarl.engine.start_check import check_start
from fmarl.errors import BadInput
from fmarl.federation.recipes import MethodConfig
from fmarl.records.run_folder import RunFolder
from unit.engine.small_experiments import toy


def test_a_period_longer_than_the_run_is_warned_of():
    long = MethodConfig(sync_period=11, learning_rate=1e-2)
    [line] = check_start(toy(together=long))
    assert line == (
        "the run has 10 updates and sync_period = 11: agents never average. "
        "Use --sync-period 10 or less, or more --num-epochs."
    )


def test_no_warning_where_agents_average_or_are_not_to():
    alone = MethodConfig(method="independent", sync_period=11)
    assert check_start(toy()) == check_start(toy(together=alone)) == []


def test_samples_that_are_not_there_are_refused_and_leave_no_folder(tmp_path):
    lost = toy(samples=str(tmp_path / "nosuch"))
    with pytest.raises(BadInput, match="nosuch is not allowed"):
        check_start(lost)
    with pytest.raises(BadInput, match="nosuch is not allowed"):
        train(lost, tmp_path / "run")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("settings", [{"sync_period": 99_999_999}, {"learning_rate": 1e300}])
def test_settings_that_no_run_survives_are_refused(settings):
    with pytest.raises(BadInput, match=next(iter(settings))):
        check_start(toy(together=MethodConfig(**settings)))


def test_samples_are_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = begin(toy(samples="runs/source"), "run")
    assert read_experiment(folder).samples == str(Path("runs/source").absolute())


def test_runs_that_wait_for_their_turn_stay_if_another_has_begun(tmp_path):
    first, second = (begin(toy(seed=seed), tmp_path / f"{seed}") for seed in (0, 1))
    RunFolder(first).metrics.write_text('{"kind":"start"}\n')
    remove_unbegun([first, second])
    assert first.exists() and second.exists()
    remove_unbegun([second])
    assert first.exists() and not second.exists()
