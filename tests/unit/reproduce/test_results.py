"""What is kept of runs: whole lines of one code, and nothing lost when something breaks."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from fmarl.engine.experiment import Experiment
from fmarl.engine.run import train
from fmarl.errors import BadInput
from fmarl.reproduce.result_keys import key_of
from fmarl.reproduce.results import (
    ResultsFolder,
    adding_to,
    keep,
    read_about,
    read_results,
    require_same_code,
    result_of,
    summary,
    what_runs_here,
)
from unit.engine.small_experiments import toy
from unit.reproduce.made_up import STUDY, record

ABOUT = {"profile": "quick", "variant": "standard", "code": "c0de", "versions": {"jax": "1"}}
EXPERIMENT = Experiment(num_epochs=20)


def test_a_result_comes_back_as_it_was_kept(tmp_path: Path):
    with adding_to(tmp_path, ABOUT) as writer:
        kept = keep(writer, record(EXPERIMENT, 0.25))
    [(key, result)] = read_results(tmp_path).items()
    assert key == kept.key == key_of(EXPERIMENT)
    assert result.curve.tolist() == kept.curve.tolist() == pytest.approx([0.251] * 3)


def test_half_a_line_is_no_result_and_does_not_harm_the_next(tmp_path: Path):
    with adding_to(tmp_path, ABOUT) as writer:
        keep(writer, record(EXPERIMENT, 0.25))
    lines = ResultsFolder(tmp_path).lines
    lines.write_bytes(lines.read_bytes() + b'{"key": "half')
    assert len(read_results(tmp_path)) == 1
    with adding_to(tmp_path, ABOUT) as writer:
        keep(writer, record(Experiment(num_epochs=20, seed=1), 0.26))
    assert [result.seed for result in read_results(tmp_path).values()] == [0, 1]


@pytest.mark.parametrize("line", [b"{}\n", b"[1]\n", b'{"key": 3, "experiment": {}}\n', b"no\n"])
def test_a_line_that_is_no_result_is_refused_by_name(tmp_path: Path, line: bytes):
    ResultsFolder(tmp_path).lines.write_bytes(line)
    with pytest.raises(BadInput, match=r"runs\.jsonl"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"code": "0ther"}, {"profile": "paper"}, {"variant": "sgd"}, {"versions": {"jax": "2"}}],
)
def test_results_of_something_else_are_not_mixed_in(tmp_path: Path, change: dict):
    with adding_to(tmp_path, ABOUT) as writer:
        keep(writer, record(EXPERIMENT, 0.25))
    before = ResultsFolder(tmp_path).lines.read_bytes()
    with pytest.raises(BadInput, match="Use another --out"), adding_to(tmp_path, ABOUT | change):
        pass
    assert ResultsFolder(tmp_path).lines.read_bytes() == before


def test_another_python_is_no_other_code():
    before = ABOUT | {"versions": {"jax": "1", "python": "3.11.7"}}
    require_same_code(Path("x"), before, before | {"versions": {"jax": "1", "python": "3.12.0"}})


def test_two_processes_do_not_write_to_one_folder(tmp_path: Path):
    with adding_to(tmp_path, ABOUT), pytest.raises(BadInput), adding_to(tmp_path, ABOUT):
        pass


def test_a_damaged_about_is_named(tmp_path: Path):
    ResultsFolder(tmp_path).about.write_text("{")
    with pytest.raises(BadInput, match=r"about\.json"):
        read_about(tmp_path)


def test_what_runs_here_says_study_code_and_libraries():
    found = what_runs_here(STUDY)
    assert (found["profile"], found["variant"]) == ("quick", "standard")
    assert len(found["code"]) == 16
    assert {"jax", "numpy", "libsumo"} <= found["versions"].keys()
    assert json.loads(json.dumps(found)) == found


def test_a_failed_run_counts_with_its_last_test_to_the_end():
    facts = record(EXPERIMENT, 0.2)
    for name in ("epochs", "rewards", "uploads", "exchanges"):
        facts[name] = facts[name][:2]
    facts["rewards"] = [[0.1, 0.1], [0.3, 0.3]]
    result = result_of(facts | {"failed": "diverged"})
    assert result.epochs.tolist() == [0.0, 10.0, 20.0]
    assert result.curve.tolist() == pytest.approx([0.1, 0.3, 0.3])
    assert result.uploads.tolist() == [0, 100, 100]


def test_the_summary_of_a_real_run_has_its_tests_its_ledger_and_its_norms(tmp_path: Path):
    source = train(toy(), tmp_path / "source")
    experiment = toy(samples=str(source.folder), seed=3)
    run = train(experiment, tmp_path / "run")
    found = result_of(summary(experiment, run.folder))
    tests = [
        json.loads(line)
        for line in (run.folder / "metrics.jsonl").read_text().splitlines()
        if '"kind":"test"' in line
    ]
    assert found.epochs.tolist() == [line["epoch"] for line in tests] == [0, 2, 4, 5]
    np.testing.assert_allclose(found.curve, [line["mean"] for line in tests], rtol=1e-5)
    assert found.totals["uploads"] == 3 * (10 // 3)
    assert found.totals["updates"] == 3 * 10
    assert found.measured is not None and found.measured.initial_gradient_norm > 0
    text = (run.folder / "metrics.jsonl").read_bytes()
    assert found.facts["metrics_sha256"] == hashlib.sha256(text).hexdigest()
