"""A run that is trained longer ends as if it had been asked for that at first."""

import os
import signal

import pytest

from fmarl.engine import extend_run
from fmarl.engine.evaluate_run import evaluate_run
from fmarl.engine.run import Run, begin, read_experiment, resume, train
from fmarl.engine.run_writer import RunWriter
from fmarl.errors import BadInput
from fmarl.federation.recipes import MethodConfig
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder, read_run
from fmarl.records.strict_json import unseal
from unit.engine.small_experiments import toy

CONSENSUS = MethodConfig(method="consensus", graph="path", sync_period=3, learning_rate=1e-2)
DRAWN = MethodConfig(local_updates="drawn:1-3", sync_period=3, learning_rate=1e-2)


def metrics(run: Run) -> bytes:
    return RunFolder(run.folder).metrics.read_bytes()


def same_files(one: Run, other: Run, name: str) -> bool:
    names = [sorted(path.name for path in (run.folder / name).glob("*")) for run in (one, other)]
    return names[0] == names[1]


def codes(run: Run) -> list[str]:
    return [line["code"] for line in read_lines(RunFolder(run.folder).events).records]


@pytest.mark.parametrize(
    "changes",
    [
        {"together": CONSENSUS},
        {"together": CONSENSUS, "test_every": 3},  # the shorter run's last test must go
        {"together": CONSENSUS, "algorithm": "tac", "test_every": 3},
        {"together": DRAWN, "test_every": 3},
        {"together": MethodConfig(method="delayed", delay_slots=3), "test_every": 0},
    ],
)
def test_two_epochs_and_two_more_are_four(tmp_path, changes):
    whole = train(toy(num_epochs=4, **changes), tmp_path / "whole")
    train(toy(num_epochs=2, **changes), tmp_path / "parts")
    extend_run.extend(tmp_path / "parts", 4)
    kept = RunFolder(tmp_path / "parts").metrics.read_bytes()
    parts = resume(tmp_path / "parts")
    assert metrics(parts).startswith(kept)  # those who follow the file need not read it again
    assert (parts.digest, parts.update_count, parts.finished) == (whole.digest, 8, True)
    assert metrics(parts) == metrics(whole)
    assert same_files(whole, parts, "frames")
    methods = [unseal(RunFolder(run.folder).method.read_bytes()) for run in (whole, parts)]
    assert methods[0] == methods[1]


def test_the_record_tells_the_truth(tmp_path):
    train(toy(num_epochs=2), tmp_path / "run", command_line=["fmarl", "train"])
    run = resume(tmp_path / "run", num_epochs=3)
    description = read_run(run.folder)
    assert description["experiment"]["num_epochs"] == read_experiment(run.folder).num_epochs == 3
    [change] = description["extended"]
    assert (change["from"], change["to"]) == (2, 3) and change["when"] and change["command"]
    assert description["command_line"] == ["fmarl", "train"]
    assert "EXTENDED" in codes(run)
    assert evaluate_run(run.folder, read_experiment(run.folder), 1, seed=0).rewards
    again = resume(run.folder, num_epochs=4)
    assert [one["to"] for one in read_run(again.folder)["extended"]] == [3, 4]
    assert again.digest == train(toy(num_epochs=4), tmp_path / "whole").digest


class Killed(BaseException):
    """What a kill is to a run in this process."""


@pytest.mark.parametrize("moment", ["write_checkpoint", "remove", "write_durably", "epoch"])
def test_a_kill_while_it_is_extended_loses_nothing(tmp_path, monkeypatch, moment):
    changes = {"test_every": 3, "together": CONSENSUS}
    whole = train(toy(num_epochs=4, **changes), tmp_path / "whole")
    folder = train(toy(num_epochs=2, **changes), tmp_path / "parts").folder
    place, calls = (RunWriter if moment == "epoch" else extend_run), iter(range(100))
    real = getattr(place, moment)

    def killed(*arguments, **settings):
        if moment == "epoch" and next(calls) == 0:  # the second of two epochs
            return real(*arguments, **settings)
        real(*arguments, **settings)
        raise Killed

    before = RunFolder(folder).metrics.read_bytes()
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(place, moment, killed)
        resume(folder, num_epochs=4)
    if read_experiment(folder).num_epochs == 2:  # then it is as it was
        assert metrics(resume(folder)) == before
    parts = resume(folder, num_epochs=4)
    assert (parts.digest, metrics(parts)) == (whole.digest, metrics(whole))


@pytest.mark.parametrize("num_epochs", [1, 5])  # it has done one of three
def test_a_stopped_run_may_be_given_more_epochs_or_fewer(tmp_path, num_epochs):
    folder = begin(toy(num_epochs=3), tmp_path / "run")

    def stop(line: dict) -> None:
        if line["kind"] == "epoch" and line["epoch"] == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    assert not resume(folder, listen=stop).finished
    run = resume(folder, num_epochs=num_epochs)
    assert run.digest == train(toy(num_epochs=num_epochs), tmp_path / "whole").digest
    assert metrics(run) == RunFolder(tmp_path / "whole").metrics.read_bytes()


@pytest.mark.parametrize(
    ("changes", "num_epochs", "line"),
    [
        ({}, 1, "2 or more, for so many are done"),
        ({}, 0, "1 <= num_epochs"),
        ({"anneal": True}, 4, "its learning rate falls to zero over 2"),
    ],
)
def test_what_can_not_be_is_refused_and_nothing_is_changed(tmp_path, changes, num_epochs, line):
    folder = train(toy(num_epochs=2, **changes), tmp_path / "run").folder
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(BadInput, match=line):
        resume(folder, num_epochs=num_epochs)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_method_that_would_have_begun_otherwise_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "falling_rate.py").write_text(
        "import fmarl\n"
        "def make(config, team):\n"
        "    return fmarl.make_method(team.num_agents, learning_rate=0.1 / team.periods)\n"
    )
    experiment = toy(num_epochs=20, test_every=0, together=MethodConfig(method="falling_rate:make"))
    folder = train(experiment, tmp_path / "run").folder
    with pytest.raises(BadInput, match=r"method falling_rate:make has other learning_rate over 40"):
        resume(folder, num_epochs=40)
