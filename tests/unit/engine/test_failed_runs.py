"""A bug in a user's environment ends a run, and everything says whose bug it is."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fmarl.cli import main
from fmarl.engine.run import begin, resume, train
from fmarl.errors import EngineFailed
from fmarl.launch.exit_codes import report_error
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder
from fmarl.records.run_list import failure_line, state_of
from fmarl.report.run_reader import read_recorded_run
from fmarl.user_code import UserCodeFailed
from unit.engine.channels import LATE, write_channels
from unit.engine.small_experiments import toy

SEED = 1


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """The folder that a user works in, with an environment of their own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def channels(**changes):
    world = {"world": "pettingzoo:channels", "set": ("epoch_steps=40",), "seed": SEED}
    return toy(**world, test_every=0, **changes)


def events(folder: Path) -> list[dict]:
    return read_lines(RunFolder(folder).events).records


def test_a_bug_ends_the_run_as_failed_and_a_mended_world_goes_on_to_the_same_bits(here, capsys):
    write_channels(here)
    whole = train(channels(), "whole")
    write_channels(here, LATE)
    with pytest.raises(UserCodeFailed) as failed:
        train(channels(), "run")
    assert report_error(failed.value) == 7
    [ours, *theirs] = capsys.readouterr().err.splitlines()
    assert ours.startswith("fmarl: world pettingzoo:channels in slot ")
    assert theirs[0] == "Traceback (most recent call last):" and "fmarl" not in "".join(theirs)
    assert theirs[-1] == "AssertionError: channel 3 is jammed"
    source = Path("channels.py").read_text().splitlines()
    line = next(n for n, text in enumerate(source, 1) if "jammed" in text)
    told = f"AssertionError: channel 3 is jammed (channels.py:{line})"
    folder = Path("run")
    assert (state_of(folder, {"num_epochs": 5}), failure_line(folder)) == ("failed", told)
    facts = {"type": "AssertionError", "message": "channel 3 is jammed"}
    assert facts.items() <= events(folder)[-1].items()
    recorded = read_recorded_run(folder, "run")
    assert (recorded.state, recorded.failure) == ("failed", told)
    assert main(["runs", "--json", "."]) == 0
    listed = {one["run"]: one for one in json.loads(capsys.readouterr().out)}
    assert (listed["run"]["state"], listed["run"]["failure"]) == ("failed", told)

    write_channels(here)
    assert resume(folder).digest == whole.digest
    assert state_of(folder, {"num_epochs": 5}) == "done"


def test_nonsense_in_mid_run_is_a_failure_and_not_bad_input(here):
    write_channels(here, "rewards['a'] = float('nan') if seen['a'][0] > 0.98 else 0.0")
    with pytest.raises(EngineFailed, match="reward of a is nan"):
        train(channels(), "run")
    assert state_of(Path("run"), {}) == "failed"
    assert "reward of a is nan" in failure_line(Path("run"))


@pytest.mark.parametrize("bug", ["raise OSError('no card')", "return {}"])
def test_a_world_that_can_not_begin_leaves_no_folder(here, bug, capsys):
    write_channels(here, bug)
    flags = ["--num-epochs", "3", "--steps-per-update", "20", "--set", "epoch_steps=40"]
    code = main(["train", "pettingzoo:channels", *flags])
    said = capsys.readouterr().err
    if "raise" in bug:
        assert code == 7 and said.endswith("OSError: no card\n") and "channels.py" in said
    else:
        assert code == 2 and "step of the environment returned a dict" in said
        assert "channels.py" in said and len(said.splitlines()) == 1
    assert not Path("runs").exists()


def test_a_disk_that_takes_no_checkpoint_is_told_with_a_fix_and_an_event(tmp_path, monkeypatch):
    folder = begin(toy(), tmp_path / "run")

    def refuse(*given: object) -> None:
        raise DiskTrouble("checkpoints/5 can not be written: No space left on device")

    monkeypatch.setattr("fmarl.engine.run_writer.RunWriter.save", refuse)
    with pytest.raises(DiskTrouble, match=r"left on device\. Make room .*: fmarl resume /"):
        resume(folder)
    assert events(folder)[-1]["type"] == "DiskTrouble"


def test_a_finished_run_is_not_touched_by_resume(tmp_path, capsys):
    run = train(toy(), tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in run.folder.rglob("*") if path.is_file()}

    def no_engine(*given: object) -> Any:
        raise AssertionError("an engine was started")

    assert resume(run.folder, make_engine=no_engine) == run
    assert main(["resume", str(run.folder)]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{run.folder} is finished already: 10 of 10 updates")
    after = {path: path.stat().st_mtime_ns for path in run.folder.rglob("*") if path.is_file()}
    assert after == before


def test_a_run_whose_last_test_is_missing_is_not_done_and_resume_plays_it(tmp_path):
    run = train(toy(), tmp_path / "run")
    metrics = RunFolder(run.folder).metrics
    whole = metrics.read_bytes()
    settings = {"num_epochs": 5, "test_every": 2}
    assert state_of(run.folder, settings) == "done"
    for path in RunFolder(run.folder).checkpoints.glob("*10*"):
        path.unlink()
    metrics.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    assert state_of(run.folder, settings) == "stopped"
    assert not read_recorded_run(run.folder, "run").finished
    again = resume(run.folder)
    assert (again.digest, metrics.read_bytes()) == (run.digest, whole)


def test_evaluating_a_run_without_a_checkpoint_gets_one_line_and_code_6(tmp_path, capsys):
    folder = begin(toy(), tmp_path / "run")
    assert main(["evaluate", str(folder)]) == 6
    [line] = capsys.readouterr().err.splitlines()
    assert line == f"fmarl: {folder} has no good checkpoint: none was written yet"


def test_playing_a_world_with_a_bug_shows_its_own_traceback_too(here, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    write_channels(here, LATE)
    assert main(["world", "pettingzoo:channels", "--policy", "random"]) == 7
    [ours, *theirs] = capsys.readouterr().err.splitlines()
    assert ours == "fmarl: world pettingzoo:channels failed; this is its own error:"
    assert theirs[-1] == "AssertionError: channel 3 is jammed"
    assert "channels.py" in "".join(theirs) and "src/fmarl" not in "".join(theirs)
    del sys.modules["channels"]
