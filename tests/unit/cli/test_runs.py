"""`fmarl runs` lists every run that it can find, damaged or not, and never waits."""

import json
import os
import shutil

import pytest

from fmarl.cli import main
from unit.report.small_runs import road, write_run


@pytest.fixture
def two_runs(tmp_path):
    write_run(tmp_path / "a", road())
    write_run(tmp_path / "many" / "seed-1", road(seed=1))
    return tmp_path


def listed(capsys, *places) -> dict[str, dict]:
    assert main(["runs", *map(str, places), "--json"]) == 0
    return {run["run"]: run for run in json.loads(capsys.readouterr().out)}


def test_folders_of_seeds_runs_and_several_paths_are_listed(two_runs, capsys):
    both = listed(capsys, two_runs)
    assert set(both) == {"a", "seed-1"}
    assert listed(capsys, two_runs / "a", two_runs / "many") == both
    assert set(listed(capsys, two_runs / "a")) == {"a"}
    assert main(["runs", str(two_runs)]) == 0
    assert "many/seed-1" in capsys.readouterr().out


def test_garbage_in_one_run_does_not_hide_the_others(two_runs, capsys):
    (two_runs / "a" / "metrics.jsonl").write_bytes(b"\x00garbage\n" * 10)
    assert {name: run["state"] for name, run in listed(capsys, two_runs).items()} == {
        "a": "damaged",
        "seed-1": "done",
    }
    assert main(["runs", str(two_runs), "--json", "--tests"]) == 0
    capsys.readouterr()
    assert main(["runs", str(two_runs)]) == 0
    assert "damaged: " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["metrics.jsonl", "events.jsonl", "run.json"])
def test_a_pipe_under_a_files_name_is_damage_and_nobody_waits_for_it(two_runs, name, capsys):
    (two_runs / "a" / name).unlink(missing_ok=True)
    os.mkfifo(two_runs / "a" / name)
    found = listed(capsys, two_runs)
    assert found["seed-1"]["state"] == "done"
    assert found["a"]["state"] == "damaged" or name == "events.jsonl"
    assert main(["report", str(two_runs), "--out", str(two_runs / "out"), "--json"]) == 0
    assert "not a regular file" in capsys.readouterr().out


def test_the_last_test_is_scored_by_the_measure_of_the_world(tmp_path, capsys):
    write_run(tmp_path / "game", road(world="gym:CartPole-v1"))
    [run] = listed(capsys, tmp_path).values()
    assert run["measure"] == "return"
    shutil.rmtree(tmp_path / "game")
    write_run(tmp_path / "road", road())
    [run] = listed(capsys, tmp_path).values()
    assert run["measure"] == "NAS"
    assert run["test reward"] > 0


def test_metrics_of_another_run_are_damage(tmp_path, capsys):
    from fmarl.engine.run import train
    from unit.engine.small_experiments import toy

    for seed in (0, 1):
        train(toy(seed=seed), tmp_path / str(seed))
    shutil.copy(tmp_path / "1" / "metrics.jsonl", tmp_path / "0" / "metrics.jsonl")
    assert [run["state"] for run in listed(capsys, tmp_path).values()] == ["damaged", "done"]
    assert main(["report", str(tmp_path / "0"), "--out", str(tmp_path / "out")]) == 2
    assert "it is of a run with other settings" in capsys.readouterr().err
