"""Which runs the page shows, and under which names."""

import os
import shutil
from pathlib import Path

import pytest

from fmarl.engine.run import begin
from fmarl.errors import BadInput
from fmarl.web import run_registry as watched
from fmarl.web.run_registry import RunRegistry, require_places
from unit.engine.small_experiments import toy


def test_runs_are_found_in_a_folder_below_it_and_where_they_are(tmp_path: Path):
    for name in ("a", "firl/seed-0", "firl/seed-1"):
        begin(toy(), tmp_path / name)
    found = RunRegistry([tmp_path])
    found.poll()
    assert sorted(found.runs) == ["a", "firl.seed-0", "firl.seed-1"]
    alone = RunRegistry([tmp_path / "a"])
    alone.poll()
    assert list(alone.runs) == ["a"]


def test_names_fit_into_an_address_and_no_two_are_the_same(tmp_path: Path):
    for name in ("x/a b?", "y/a b?", "y/ä"):
        begin(toy(), tmp_path / name)
    found = RunRegistry([tmp_path / "x", tmp_path / "y"])
    found.poll()
    assert sorted(found.runs) == ["_", "a_b_", "a_b_-2"]
    assert len({run.folder.path for run in found.runs.values()}) == 3


def test_runs_come_and_go(tmp_path: Path):
    found = RunRegistry([tmp_path])
    assert found.poll() == []
    begin(toy(), tmp_path / "a")
    assert [message.name for message in found.poll()] == ["run"]
    shutil.rmtree(tmp_path / "a")
    assert [(m.name, m.data) for m in found.poll()] == [("gone", {"run": "a"})]
    assert found.runs == {}


def test_a_run_named_twice_is_one_run(tmp_path: Path):
    begin(toy(), tmp_path / "a")
    found = RunRegistry([tmp_path, tmp_path / "a"])
    found.poll()
    assert list(found.runs) == ["a"]


def test_of_too_many_the_newest_are_shown(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(watched, "MOST_RUNS", 2)
    for age, name in enumerate("abc"):
        begin(toy(), tmp_path / name)
        os.utime(tmp_path / name / "run.json", (age, age))
    found = RunRegistry([tmp_path])
    found.poll()
    assert sorted(found.runs) == ["b", "c"]
    begin(toy(), tmp_path / "d")
    found.poll()
    assert sorted(found.runs) == ["b", "c"]


def test_a_place_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="none"):
        require_places([tmp_path / "none"])
