"""Which runs the page shows, and under which names."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fmarl.engine.run import begin
from fmarl.errors import BadInput
from fmarl.records.lock import hold
from fmarl.web import run_registry as watched
from fmarl.web.run_registry import RunRegistry, require_places
from fmarl.web.tail import ServerEvent
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
    assert [message.name for message in found.poll()] == ["run", "compared"]
    assert found.poll() == []
    shutil.rmtree(tmp_path / "a")
    gone, compared = found.poll()
    assert (gone.name, gone.data) == ("gone", {"run": "a"})
    assert (compared.name, compared.data) == ("compared", {"runs": {}})
    assert found.runs == {}


def compared(events: list[ServerEvent]) -> dict[str, Any]:
    """What tells the runs apart, by name."""
    [event] = [event for event in events if event.name == "compared"]
    return event.data["runs"]


def test_equal_runs_are_told_apart_by_their_folders(tmp_path: Path):
    for name in ("x/a", "y/a"):
        begin(toy(), tmp_path / name)
    runs = compared(RunRegistry([tmp_path / "x", tmp_path / "y"]).poll())
    assert {name: run["folder"] for name, run in runs.items()} == {"a": "x/a", "a-2": "y/a"}


def test_a_copy_of_a_run_is_shown_as_the_same_run(tmp_path: Path):
    begin(toy(), tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    registry = RunRegistry([tmp_path])
    runs = compared(registry.poll())
    assert list(runs) == list(registry.runs) == ["a"]
    assert (runs["a"]["copies"], runs["a"]["folder"]) == (["b"], "")
    shutil.rmtree(tmp_path / "a")
    gone, *events = registry.poll()
    assert gone.data == {"run": "a"}
    assert compared(events) == {"b": {"world": "", "settings": [], "folder": "", "copies": []}}


def test_of_copies_the_one_that_went_on_is_shown(tmp_path: Path):
    begin(toy(), tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    registry = RunRegistry([tmp_path])
    registry.poll()
    (tmp_path / "b" / "metrics.jsonl").write_text('{"kind":"epoch"')
    with hold(tmp_path / "a"):
        registry.poll()
        assert list(registry.runs) == ["a"]  # it is being trained
    copy, *events = registry.poll()
    assert (copy.name, copy.data) == ("copy", {"run": "a"})
    assert compared(events)["b"]["copies"] == ["a"]


def test_runs_that_can_not_be_read_are_not_copies_of_each_other(tmp_path: Path):
    for name in ("a", "b"):
        begin(toy(), tmp_path / name)
        os.truncate(tmp_path / name / "run.json", 10)
    registry = RunRegistry([tmp_path])
    registry.poll()
    assert sorted(registry.runs) == ["a", "b"]


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
