from pathlib import Path

import pytest

from fmarl.errors import BadInput
from fmarl.records.jsonl import LineWriter
from fmarl.records.lock import hold
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.run_list import list_runs
from fmarl.records.run_names import ANIMALS, MANNERS, run_names
from unit.records.runs import make_run, write


def test_a_list_says_how_far_each_run_is_and_who_is_at_it(tmp_path: Path):
    make_run(tmp_path / "quiet")
    busy = tmp_path / "busy"
    make_run(busy)
    write(busy, 4)
    with LineWriter(RunFolder(busy).metrics) as metrics, hold(busy):
        metrics.append({"update_count": 4})
        metrics.append({"update_count": 5})
        first, second = sorted(list_runs(tmp_path))
    assert (first.folder.name, first.description) == ("busy", read_run(busy))
    assert (first.last_metrics, first.checkpoint) == ({"update_count": 5}, 4)
    assert first.holder.startswith("pid ") and not first.problem
    assert second[2:] == ("", {}, {}, None, "")


def test_what_is_no_run_is_not_listed_and_a_damaged_one_says_why(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "pictures").mkdir()
    make_run(tmp_path / "good")
    make_run(tmp_path / "damaged")
    (tmp_path / "damaged" / "run.json").write_bytes(b"\0" * 100)
    good, damaged = list_runs(tmp_path)
    assert (good.folder.name, damaged.folder.name) == ("good", "damaged")
    assert "it is not JSON" in damaged.problem and damaged.description == {}


def test_a_folder_that_is_not_there_gets_one_line(tmp_path: Path):
    with pytest.raises(BadInput, match="can not be listed: No such file or directory"):
        list_runs(tmp_path / "none")
    assert list_runs(tmp_path) == []


def test_names_are_made_of_different_words():
    for words in (MANNERS.split(), ANIMALS.split()):
        assert len(set(words)) == len(words) >= 60
        assert all(word.isascii() and word.islower() for word in words)


def test_a_name_depends_on_all_of_world_method_and_seed():
    known = {next(run_names(world, method, 0)) for world in "abcd" for method in "abcd"}
    assert len(known) >= 14
    assert len({next(run_names("a", "b", seed)) for seed in range(20)}) >= 18
    assert next(run_names("a", "b", 1)) == next(run_names("a", "b", 1))
