"""`fmarl reproduce` and `fmarl report` as a user calls them: real runs on SUMO, real signals."""

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from e2e.fmarl_command import fmarl_command
from fmarl.reproduce.results import ResultsFolder, read_results, what_runs_here
from fmarl.reproduce.study import make_study
from unit.records.small_disk import fill, small_disk

SMOKE = ("reproduce", "fig4", "--profile", "smoke", "--seeds", "1")
RUNS = 6
"""The sample set, four methods and SUMO."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("reproduction") / "smoke"
    words = fmarl_command(*SMOKE, "--out", str(folder))
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder, done.stdout


@pytest.mark.long
def test_it_says_how_long_it_takes_runs_everything_and_reports(finished):
    folder, said = finished
    assert re.search(rf"{RUNS} are missing and take about .* on \d+ cores", said)
    assert len(read_results(folder)) == RUNS
    assert "FIRL_asy seed 0" in said and "Report:" in said
    assert "<h1>" in (folder / "report.html").read_text()


@pytest.mark.long
def test_run_folders_are_cleared_away_but_for_the_sample_set(finished):
    folder, _ = finished
    [left] = ResultsFolder(folder).work.iterdir()
    assert ResultsFolder(folder).has_samples(left.name)


@pytest.mark.long
def test_what_is_there_is_used(finished, fmarl):
    folder, _ = finished
    before = ResultsFolder(folder).lines.read_bytes()
    done = fmarl(*SMOKE, "--out", str(folder))
    assert done.returncode == 0
    assert f"{RUNS} runs; none is missing" in done.stdout
    assert ResultsFolder(folder).lines.read_bytes() == before


@pytest.mark.long
def test_a_report_can_be_made_again_elsewhere_with_the_same_bytes(finished, fmarl, tmp_path):
    folder, _ = finished
    done = fmarl("report", str(folder), "--out", str(tmp_path), "--json")
    assert done.returncode == 0
    facts = json.loads(done.stdout)
    assert [claim["claim"] for claim in facts["claims"]] == list(range(1, 16))
    assert (tmp_path / "report.html").read_bytes() == (folder / "report.html").read_bytes()


@pytest.mark.long
def test_verdicts_of_other_results_stand_beside_those_of_the_first(finished, fmarl, tmp_path):
    folder, _ = finished
    shutil.copytree(folder, tmp_path / "other")
    out = tmp_path / "report"
    done = fmarl("report", str(folder), str(tmp_path / "other"), "--out", str(out), "--json")
    assert done.returncode == 0
    assert all(one["other"] == one["fixed"] for one in json.loads(done.stdout)["claims"])
    assert "Do claims depend on our choices?" in (out / "report.html").read_text()
    again = fmarl("report", str(folder), str(folder))
    assert (again.returncode, "Rename one" in again.stderr) == (2, True)


@pytest.mark.long
def test_a_reproduction_that_was_stopped_goes_on_to_the_same_results(finished, tmp_path):
    whole, folder = finished[0], tmp_path / "stopped"
    words = fmarl_command(*SMOKE, "--out", str(folder))
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while "seed 0" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 143
    assert "go on with the same command" in said
    assert 0 < len(read_results(folder)) < RUNS
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    hashes = [
        {key: one.facts["metrics_sha256"] for key, one in read_results(place).items()}
        for place in (whole, folder)
    ]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["fig3"],
            "'fig3' is not allowed: one of fig4, fig5, fig6, fig7, table4, all. Did you mean fig",
        ),
        (["--seeds", "0"], "seeds = 0 is not allowed: 1 to 100. Use 5, for example."),
        (["--seeds", "-2"], "seeds = -2 is not allowed: 1 to 100. Use 5, for example."),
        (["--jobs", "-1"], "jobs = -1 is not allowed: 0 or more. Use 0 for one per core."),
        (["--profile", "fast"], "profile 'fast' is not allowed"),
        (["--variant", "x"], "variant 'x' is not allowed"),
        (["--out", "/proc/nothing"], "/proc/nothing can not be made"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(fmarl_here, words: list[str], line: str):
    done = fmarl_here("reproduce", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert line in done.stderr


def test_results_of_other_code_are_left_as_they_are(fmarl, tmp_path: Path):
    about = what_runs_here(make_study("smoke")) | {"code": "0123456789abcdef"}
    text = json.dumps(about)
    ResultsFolder(tmp_path).about.write_text(text)
    done = fmarl(*SMOKE, "--out", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "0123456789abcdef" in done.stderr and "--out" in done.stderr
    assert ResultsFolder(tmp_path).about.read_text() == text


def test_damaged_results_are_named_and_left_as_they_are(fmarl, tmp_path: Path):
    lines = ResultsFolder(tmp_path).lines
    lines.write_text('{"key": 1}\n')
    done = fmarl(*SMOKE, "--out", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "runs.jsonl" in done.stderr
    assert lines.read_text() == '{"key": 1}\n'


def test_a_full_disk_gets_one_line(fmarl, tmp_path: Path):
    with small_disk(tmp_path) as disk:
        fill(disk)
        done = fmarl(*SMOKE, "--out", str(disk / "results"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "results" in done.stderr


def test_a_folder_without_results_has_no_report(fmarl, tmp_path: Path):
    done = fmarl("report", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "fmarl reproduce" in done.stderr


def test_a_plan_changes_nothing(fmarl, tmp_path: Path):
    done = fmarl(*SMOKE, "--out", str(tmp_path / "x"), "--plan", "--json")
    assert json.loads(done.stdout)["missing"] == RUNS
    assert not (tmp_path / "x").exists()
