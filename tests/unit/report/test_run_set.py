"""Runs are found, grouped and never silently dropped."""

import shutil
from pathlib import Path

import pytest

from fmarl.errors import BadInput
from fmarl.records.lock import hold
from fmarl.records.run_folder import RunFolder
from fmarl.report.run_set import find_runs, read_run_set, reference_of, require_known
from unit.report.small_runs import RISING, road, seeds, shifted, write_run


def _labels(*paths: Path) -> list[str]:
    return [group.label for group in read_run_set(paths).groups]


def test_runs_that_differ_in_nothing_but_the_seed_are_one_group(tmp_path):
    seeds(tmp_path / "firl", "periodic", [RISING] * 3)
    seeds(tmp_path / "irl", "independent", [RISING] * 2)
    found = read_run_set([tmp_path])
    assert {group.label: [run.seed for run in group.runs] for group in found.groups} == {
        "FIRL τ=15": [0, 1, 2],
        "IRL": [0, 1],
    }
    assert [run.name for run in found.runs][-1] == "irl/seed-1"


def test_a_folder_gives_its_runs_and_those_of_its_folders_by_age(tmp_path):
    write_run(tmp_path / "b", road("independent"), started="2026-01-02")
    write_run(tmp_path / "a" / "seed-0", road("periodic"), started="2026-01-03")
    write_run(tmp_path / "c", road("synchronous"), started="2026-01-01")
    write_run(tmp_path / "a" / "deeper" / "still", road("decay"))
    assert _labels(tmp_path) == ["FIRL τ=1", "IRL", "FIRL τ=15"]
    assert _labels(tmp_path / "a", tmp_path / "c")[0] == "FIRL τ=15"


def test_groups_of_one_label_say_what_tells_them_apart(tmp_path):
    write_run(tmp_path / "a", road())
    write_run(tmp_path / "b", shifted(road(), learning_rate=1e-3))
    assert sorted(_labels(tmp_path)) == ["FIRL τ=15 η=0.0001", "FIRL τ=15 η=0.001"]


def test_other_options_of_a_world_are_another_scene(tmp_path):
    write_run(tmp_path / "a", road())
    write_run(tmp_path / "b", road("independent", set=("speed_limit=30",)))
    assert list(read_run_set([tmp_path]).scenes) == ["figure-eight", "figure-eight speed_limit=30"]


def test_of_equal_runs_the_one_that_came_furthest_counts_and_the_other_is_named(tmp_path):
    write_run(tmp_path / "short", road(), RISING[:2])
    write_run(tmp_path / "whole", road())
    found = read_run_set([tmp_path])
    assert [run.name for run in found.runs] == ["whole"]
    assert found.unused == [("short", "the same settings and seed as whole")]


def test_of_equal_runs_the_one_that_was_measured_counts(tmp_path):
    write_run(tmp_path / "a", road())
    write_run(tmp_path / "b", road(samples="there"))
    assert [run.name for run in read_run_set([tmp_path]).runs] == ["b"]


def test_damaged_and_empty_runs_are_named_with_the_reason(tmp_path):
    write_run(tmp_path / "good", road())
    for name in ("line", "description", "kind", "method", "empty"):
        write_run(tmp_path / name, road(seed=1))
    with RunFolder(tmp_path / "line").metrics.open("a") as file:
        file.write("{}}\n")
    with RunFolder(tmp_path / "kind").metrics.open("a") as file:
        file.write('{"kind": "test", "epoch": 3, "update_count": 18, "mean": 0.1}\n')
    for path in ("description/run.json", "method/method.json"):
        text = (tmp_path / path).read_text()
        (tmp_path / path).write_text(text.replace("15", "16", 1).replace("2026", "2027", 1))
    RunFolder(tmp_path / "empty").metrics.unlink()
    why = {one.name: one.why for one in read_run_set([tmp_path]).unused}
    assert "line/metrics.jsonl" in why["line"] and "not JSON" in why["line"]
    assert "changed after it was written" in why["description"]
    assert "a line of kind 'test' has no rewards" in why["kind"]
    assert "method/method.json" in why["method"]
    assert why["empty"] == "no metrics yet (not begun)"
    assert not any(str(tmp_path) in reason for reason in why.values())


def test_every_state_of_a_run_is_told(tmp_path):
    for name, rewards in (("done", RISING), ("stopped", RISING[:2]), ("diverged", RISING[:2])):
        write_run(tmp_path / name, road(seed=len(name)), rewards)
    line = b'{"code": "NONFINITE", "update_count": 6}\n'
    RunFolder(tmp_path / "diverged").events.write_bytes(line)
    write_run(tmp_path / "running", road(seed=1), RISING[:2])
    write_run(tmp_path / "killed", road(seed=2), RISING[:2])
    (tmp_path / "killed" / "LOCK").write_text("pid 1 on a machine that is gone\n")
    with hold(tmp_path / "running"):
        found = read_run_set([tmp_path])
    assert {run.name: run.state for run in found.runs} == {
        name: name for name in ("done", "stopped", "diverged", "running", "killed")
    }
    [group] = found.groups
    assert group.unfinished == 4


@pytest.mark.parametrize("again", ["firl", "firl/seed-1", "firl/../firl/seed-0"])
def test_a_run_that_is_named_twice_is_refused(tmp_path, again):
    seeds(tmp_path / "firl", "periodic", [RISING] * 2)
    with pytest.raises(BadInput, match="twice"):
        find_runs([tmp_path / "firl", tmp_path / again])


def test_a_copy_of_a_run_counts_once_and_is_told(tmp_path):
    write_run(tmp_path / "a", road())
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    with (tmp_path / "a" / "metrics.jsonl").open("rb+") as metrics:
        metrics.truncate(metrics.seek(0, 2) // 2)
    found = read_run_set([tmp_path])
    assert [run.name for run in found.runs] == ["b"]  # which has come further
    assert found.unused == [("a", "a copy of b")]


def test_a_folder_without_runs_is_refused(tmp_path):
    write_run(tmp_path / "runs" / "a", road())
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name, words in (("empty", "without runs"), ("file", "Not a dir"), ("no", "No such file")):
        with pytest.raises(BadInput, match=words):
            read_run_set([tmp_path / "runs", tmp_path / name])


def test_nothing_can_be_said_of_damaged_runs_alone(tmp_path):
    write_run(tmp_path / "a", road())
    RunFolder(tmp_path / "a").metrics.write_text("?\n")
    with pytest.raises(BadInput, match=r"a: damaged: a/metrics\.jsonl"):
        read_run_set([tmp_path])


def test_what_to_name_again_is_the_folder_if_it_holds_nothing_else(tmp_path):
    seeds(tmp_path / "firl", "periodic", [RISING] * 2)
    seeds(tmp_path / "irl", "independent", [RISING] * 2)
    assert read_run_set([tmp_path]).asked == ["."]
    assert read_run_set([tmp_path / "irl"]).asked == ["."]
    part = read_run_set([tmp_path / "firl" / "seed-0", tmp_path / "irl" / "seed-1"])
    assert part.asked == ["firl/seed-0", "irl/seed-1"]


def test_names_that_do_not_fit_on_a_line_are_spelled_out(tmp_path):
    write_run(tmp_path / "good", road())
    shutil.copytree(tmp_path / "good", tmp_path / "two\nlines")
    [unused] = read_run_set([tmp_path]).unused
    assert unused.name == r"'two\nlines'"


def test_others_are_compared_with_the_first_or_with_the_one_named(tmp_path):
    write_run(tmp_path / "a", road("independent"))
    write_run(tmp_path / "b", road("periodic"))
    groups = read_run_set([tmp_path / "a", tmp_path / "b"]).groups
    assert reference_of(groups, "").label == "IRL"
    assert reference_of(groups, "FIRL τ=15").label == "FIRL τ=15"
    require_known(groups, "IRL")
    with pytest.raises(BadInput, match="one of IRL, FIRL τ=15"):
        require_known(groups, "FIRL")
