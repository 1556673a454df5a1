"""The page on any set of runs: it says what is so, and the same each time."""

import csv
import io
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fmarl.engine.estimate_constants import Constants
from fmarl.records.run_folder import RunFolder
from fmarl.records.strict_json import seal
from fmarl.report.page import POLICY
from fmarl.report.run_report import RunReport
from fmarl.report.run_set import read_run_set
from unit.report.small_runs import EPOCHS, RISING, SLOTS, plain, road, seeds, write_run
from unit.report.test_page import Reader

CONSTANTS = Constants(2.0, 0.5, 0.25, 0.125, 8.0, 1.0)


def _report(*paths: Path, **options) -> RunReport:
    return RunReport(runs=read_run_set(paths), constants={}, **options)


def _text(page: str) -> str:
    """What a reader sees, without style sheet and pictures."""
    shown = [text for tag, text in Reader(page).texts if tag not in ("style", "title")]
    return re.sub(r"\s+", " ", " ".join(shown))


def _rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three methods, three seeds; one run was stopped and one is damaged."""
    parent = tmp_path_factory.mktemp("runs")
    higher = [(0.1, 0.2, 0.3 + seed / 100) for seed in range(3)]
    seeds(parent / "irl", "independent", [(0.1, 0.15, 0.2 + seed / 50) for seed in range(3)])
    seeds(parent / "firl", "periodic", higher, together={"sync_period": 3})
    seeds(parent / "consensus", "consensus", higher, together={"sync_period": 3})
    write_run(parent / "stopped", road("independent", seed=7), RISING[:2])
    write_run(parent / "damaged", road("independent", seed=8))
    with RunFolder(parent / "damaged").metrics.open("a") as file:
        file.write("<script>\n")
    return parent


@pytest.fixture(scope="module")
def files(folder) -> dict[str, bytes]:
    return _report(folder).files()


@pytest.fixture(scope="module")
def text(files) -> str:
    return _text(files["report.html"].decode())


def test_a_report_is_a_page_figures_and_two_tables(files):
    figures = [
        f"figures/{name}.{kind}" for name in ("curves-1", "topology") for kind in ("png", "pdf")
    ]
    assert sorted(files) == sorted(["report.html", "curves.csv", "table.csv", *figures])


def test_the_page_asks_for_nothing_and_runs_nothing(files):
    reader = Reader(files["report.html"].decode())
    policies = [one.get("content") for one in reader.all("meta") if "http-equiv" in one]
    assert policies == [POLICY]
    assert not reader.all("script")
    assert all((one["src"] or "").startswith("data:") for one in reader.all("img"))


def test_the_beginning_says_what_there_is_and_what_is_not_as_it_should_be(text):
    assert "10 runs of 3 kinds" in text
    assert "IRL" in text and "FIRL τ=3" in text and "FIRL_C τ=3 E=1 ring" in text
    assert "seeds 0, 1, 2, 7, begun on 2026-11-16: 9 done, 1 stopped." in text
    assert "1 more run found and not used" in text
    assert "damaged/metrics.jsonl can not be read" in text


def test_the_same_runs_give_the_same_bytes_wherever_they_lie(folder, files, tmp_path):
    assert _report(folder).files() == files
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert _report(tmp_path / "elsewhere").files() == files
    assert not any(str(folder).encode() in content for content in files.values())


def test_the_tables_have_the_numbers(folder, files, text):
    firl = next(row for row in _rows(files["table.csv"]) if row["group"] == "FIRL τ=3")
    assert float(firl["final"]) == pytest.approx(0.31)
    assert float(firl["final_low"]) < 0.31 < float(firl["final_high"])
    assert (firl["epochs_to_baseline_median"], firl["reached_baseline"]) == ("2.0", "3")
    assert firl["uploads_low"] == firl["uploads_high"] == str(7 * 4)
    assert firl["equals_closed_form"] == "True"
    assert "0.310 [0.285, 0.335]" in text
    assert "2 (3 of 3)" in text and "never (0 of 4)" in text
    assert "4 (1 not finished)" in text


def test_every_epoch_of_every_run_is_in_the_curves(folder, files):
    rows = _rows(files["curves.csv"])
    assert len(rows) == 9 * 3 + 2
    [last] = [row for row in rows if row["run"] == "firl/seed-2" and row["epoch"] == "2"]
    assert (last["seed"], last["update_count"], last["test"]) == ("2", "12", "0.32")
    assert float(last["bytes_sent"]) == 2 * 28 * 400
    first = rows[0]
    assert (first["epoch"], first["bytes_sent"], first["baseline"]) == ("0", "0", "0.25")


def test_differences_are_to_the_first_group_or_to_the_one_that_is_named(folder, text):
    labels = [row.group.label for row in _report(folder).scores]
    assert f"Differences to {labels[0]} on the same seeds" in text
    other = _text(_report(folder, against="FIRL τ=3").page())
    assert "Differences to FIRL τ=3 on the same seeds" in other
    assert "fmarl report . --against 'FIRL τ=3'" in other
    assert "fmarl report ." in text


def test_settings_that_differ_are_told_apart_from_those_that_do_not(folder):
    page = _report(folder).page()
    differing, rest = page.split("Settings that are the same", 1)
    assert ">sync_period</th>" in differing
    assert ">graph</th>" not in differing  # only one of them uses it
    assert ">discount</th>" in rest and ">graph</th>" in rest
    assert "fmarl train figure-eight --out &#x27;my runs/x&#x27;" in rest
    assert "/usr/bin" not in page


def test_neighbours_are_drawn_and_their_speed_is_told(text):
    assert "Who exchanges gradients with whom" in text
    assert "0.75302" in text  # 2 − 2 cos(2π/7)


def test_two_groups_without_common_seeds_are_not_compared(tmp_path):
    write_run(tmp_path / "a", road("periodic", seed=0))
    write_run(tmp_path / "b", road("independent", seed=1))
    assert "Not enough seeds to compare with" in _text(_report(tmp_path).page())


def test_a_single_run_gets_a_page_without_comparisons(tmp_path):
    write_run(tmp_path / "one", road())
    page = _report(tmp_path / "one").page()
    assert "<h1>FIRL τ=15 on figure-eight</h1>" in page
    assert "Differences to" not in page and "Settings that differ" not in page
    assert "0.300" in _text(page)


def test_runs_without_tests_have_no_curves_and_say_so(tmp_path):
    write_run(tmp_path / "one", road(test_every=0), [None, None, None], baseline=None)
    report = _report(tmp_path)
    assert "there are no curves" in _text(report.page())
    assert list(report.figures) == []


def test_worlds_are_reported_on_one_by_one(tmp_path):
    write_run(tmp_path / "a", road(world="merge"))
    write_run(tmp_path / "b", road(world="gym:CartPole-v1"), baseline=None)
    report = _report(tmp_path)
    text = _text(report.page())
    assert "2 runs on 2 worlds" in text
    assert "Results on merge" in text and "Results on gym:CartPole-v1" in text
    assert "return at the end" in text and "NAS at the end" in text
    assert text.count("collisions in tests") == 1
    assert list(report.figures) == ["curves-1", "curves-2"]


def test_what_others_wrote_is_escaped(tmp_path):
    write_run(tmp_path / "<b>", road(world="gym:<i>", set=("a=<u>",)), baseline=None)
    page = _report(tmp_path).page()
    assert not re.search("<(b|i|u)>", page)
    Reader(page)


def test_measured_norms_are_drawn_with_their_bound(tmp_path):
    norms = [8.0, *(8.0 / k for k in range(2, EPOCHS * SLOTS // 5 + 2))]
    rewards = [0.1] * (EPOCHS + 1)
    write_run(tmp_path / "a", plain("periodic", sync_period=5), rewards, norms=norms)
    write_run(tmp_path / "b", plain("independent", sync_period=5), rewards, norms=norms)
    RunFolder(tmp_path / "a").constants.write_bytes(seal(CONSTANTS._asdict()))
    report = _report(tmp_path)
    assert {"gradient"} < report.figures.keys()
    text = _text(report.page())
    assert "corrected bound" in text and "1 of 1" in text
    assert "Measured on the samples of there." in text
    assert "No bound for IRL. The bounds are about averages of all agents" in text
    [bound] = [one for one in report.bounds.values() if not isinstance(one, str)]
    assert math.isfinite(bound.values[-1])


def test_liars_robust_rules_and_hierarchies_are_said_and_have_no_bound(tmp_path):
    rewards, words = [0.1] * (EPOCHS + 1), {"sync_period": 5}
    lied = plain("periodic", attack="sign-flip:2:10", **words)
    robust = plain("periodic", aggregate="trimmed", tolerated=2, **words)
    edges = replace(plain("periodic", hierarchy=3, **words), num_worlds=2)
    for name, experiment in {"lied": lied, "robust": robust, "edges": edges}.items():
        write_run(tmp_path / name, experiment, rewards, norms=[8.0] * 7)
    text = _text(_report(tmp_path).page())
    assert "every 5 updates; agents 5, 6 send -10 times what is found" in text
    assert "every 5 updates, trimmed (f = 2)" in text
    assert "every 5 updates in 2 groups, all every 3 periods" in text
    assert "here some lie about what they found" in text
    assert "here the virtual agent uses trimmed" in text
    assert "here not all are averaged" in text


def test_why_constants_could_not_be_estimated_is_in_the_page(tmp_path):
    rewards = [0.1] * (EPOCHS + 1)
    write_run(tmp_path / "a", plain("periodic", sync_period=5), rewards, norms=[8.0] * 7)
    found = read_run_set([tmp_path])
    report = RunReport(runs=found, constants={"a": "Its samples are gone."})
    assert "No bound for FIRL τ=5. Its samples are gone." in _text(report.page())
