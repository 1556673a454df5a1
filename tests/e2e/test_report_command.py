"""`fmarl report` on runs as a user calls it: real training, real files, one-line errors."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig
from fmarl.cli import main
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin, train
from fmarl.federation.recipes import MethodConfig
from fmarl.records.run_folder import RunFolder
from fmarl.reproduce.results import ResultsFolder
from unit.engine.small_experiments import toy

pytestmark = pytest.mark.long  # what it writes is tested in unit/report, and quickly


def _plain(method: str = "periodic", **changes) -> Experiment:
    """Plain SGD in one pass, so that the theory has something to say of it."""
    together = MethodConfig(method=method, learning_rate=1e-2, **changes.pop("together", {}))
    common = {"agent": AgentConfig(hidden=(4,), optimiser="sgd"), "ppo": PPOConfig(passes=1)}
    return toy(**(common | {"together": together} | changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two methods on the bumpy toy, two seeds each, measured on the samples of another run."""
    parent = tmp_path_factory.mktemp("reported")
    samples = str(train(_plain("synchronous", seed=100), parent / "samples").folder)
    alone, mixing = {"sync_period": 2}, {"sync_period": 2, "graph": "path"}
    for seed in (0, 1):
        irl = _plain("independent", samples=samples, seed=seed, together=alone)
        train(irl, parent / "runs" / "irl" / f"seed-{seed}")
        both = _plain("consensus", samples=samples, seed=seed, together=mixing)
        train(both, parent / "runs" / "consensus" / f"seed-{seed}")
    return parent / "runs"


@pytest.fixture(scope="module")
def reported(folder) -> Path:
    assert main(["report", str(folder), "--quiet"]) == 0
    return folder / "report"


def _refused(capsys, *words: object) -> str:
    """The one line that a command ends with."""
    assert main(["report", *map(str, words)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    return said.err


def test_a_folder_of_runs_gets_a_report_beside_them(folder, reported, fmarl):
    before = (reported / "report.html").read_bytes()
    done = fmarl("report", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert "FIRL_C τ=2 E=1 path" in done.stdout and "IRL" in done.stdout
    assert done.stdout.rstrip().endswith(f"Report: {folder}/report/report.html")
    assert (reported / "report.html").read_bytes() == before
    assert b"fmarl report ." in before
    names = {path.relative_to(reported).as_posix() for path in reported.rglob("*.p*")}
    assert names == {
        f"figures/{name}.{kind}"
        for name in ("curves-1", "gradient", "topology")
        for kind in ("png", "pdf")
    }


def test_constants_are_estimated_once_and_kept(folder, reported, monkeypatch):
    kept = sorted(path.parent.parent.name for path in folder.rglob("constants.json"))
    assert kept == ["consensus", "consensus"]  # of independent agents the theory says nothing
    page = (reported / "report.html").read_text()
    assert "2 of 2" in page and "No bound for IRL" in page
    monkeypatch.setattr("fmarl.engine.estimate_constants.estimate_constants", None)
    assert main(["report", str(folder), "--quiet"]) == 0
    assert (reported / "report.html").read_text() == page


def test_a_folder_that_may_only_be_read_is_reported_on_all_the_same(folder, reported, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(folder / "consensus" / "seed-0", run)
    constants = RunFolder(run).constants
    constants.unlink()
    constants.with_name("constants.json.tmp").mkdir()  # the disk refuses, even to root
    assert main(["report", str(run), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert "corrected bound" in (tmp_path / "out" / "report.html").read_text()
    assert not constants.exists()


def test_as_json_it_says_where_the_report_is_and_what_it_found(folder, reported, tmp_path, capsys):
    words = [str(folder / "irl"), str(folder / "consensus"), "--out", str(tmp_path / "x")]
    assert main(["report", *words, "--json", "--against", "IRL"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert Path(facts["report"]) == tmp_path / "x" / "report.html"
    assert (facts["runs"], facts["unused"]) == (4, [])
    assert [group["group"] for group in facts["groups"]] == ["IRL", "FIRL_C τ=2 E=1 path"]
    assert all(group["equals_closed_form"] for group in facts["groups"])
    assert "Differences to IRL" in (tmp_path / "x" / "report.html").read_text()


def test_a_report_lies_beside_its_runs_and_is_named_from_where_one_is(
    folder, reported, capsys, monkeypatch
):
    monkeypatch.chdir(folder)
    assert main(["report", "irl/seed-0"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("Report: irl/report/report.html")


def test_samples_that_are_gone_are_said_and_no_error(tmp_path):
    source = train(_plain("synchronous", seed=100), tmp_path / "samples").folder
    together = {"sync_period": 2}
    run = train(_plain(samples=str(source), together=together), tmp_path / "run").folder
    shutil.rmtree(source)
    assert main(["report", str(run), "--quiet"]) == 0
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Its constants can not be estimated" in page


def test_bad_input_gets_one_line(folder, reported, capsys, tmp_path):
    run = folder / "irl" / "seed-0"
    (tmp_path / "nothing").mkdir()
    assert "without runs" in _refused(capsys, tmp_path / "nothing")
    assert "No such file" in _refused(capsys, tmp_path / "missing")
    assert "twice" in _refused(capsys, folder, run)
    shutil.copytree(run, tmp_path / "copy")
    assert "one of IRL" in _refused(capsys, run, "--against", "FIRL", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    begin(replace(toy(), seed=3), tmp_path / "empty")
    assert "no metrics yet" in _refused(capsys, tmp_path / "empty")
    RunFolder(tmp_path / "copy").metrics.write_text("{\n")
    assert "copy/metrics.jsonl" in _refused(capsys, tmp_path / "copy")
    assert "can not be written to" in _refused(capsys, run, "--out", "/proc/nothing")


def test_files_of_others_are_left_as_they_are(folder, reported, capsys, tmp_path):
    (tmp_path / "report.html").write_text("mine")
    assert "report.html" in _refused(capsys, folder / "irl", "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "mine"


def test_results_of_a_reproduction_are_not_mixed_with_runs(folder, reported, capsys, tmp_path):
    ResultsFolder(tmp_path).about.write_text('{"profile": "smoke", "variant": ""}')
    assert "among other folders" in _refused(capsys, folder, tmp_path)
    assert "Leave it out" in _refused(capsys, tmp_path, "--against", "IRL")
