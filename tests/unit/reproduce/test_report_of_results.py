"""The page about results: whole, the same each time, and true to what it was made from."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fmarl.report.statistics import UNKNOWN
from fmarl.reproduce import paper
from fmarl.reproduce.paper import TABLE_NAMES
from fmarl.reproduce.report_page import FIGURES, STEPS, write_report
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.table4 import MeasuredRow, measured_table
from unit.reproduce.made_up import STUDY, evidence, noise

ABOUT = {"profile": "quick", "variant": "standard", "code": "c0de", "versions": {"jax": "0.10.2"}}


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    return write_report(evidence(noise), ABOUT, tmp_path_factory.mktemp("report"))


@pytest.mark.long
def test_all_claims_figures_and_rows_are_on_the_page(report: Path):
    reader = _Words()
    reader.feed(report.read_text())
    words = " ".join(reader.text)
    for name in (*TABLE_NAMES, *(title for title, _ in FIGURES.values()), "c0de", "0.10.2"):
        assert name in words
    assert all(f"{row.gradient_norm:.4f}" in words for row in paper.TABLE_4)
    assert len(re.findall(r'class="verdict', report.read_text())) > 28


@pytest.mark.long
def test_every_figure_is_there_as_png_and_pdf(report: Path):
    names = {path.name for path in (report.parent / "figures").iterdir()}
    assert names == {f"{name}.{kind}" for name in (*FIGURES, STEPS) for kind in ("png", "pdf")}


@pytest.mark.long
def test_the_same_results_give_the_same_bytes(report: Path, tmp_path: Path):
    again = write_report(Evidence(STUDY, evidence(noise).results), ABOUT, tmp_path)
    for name in ("report.html", "figures/fig4.png", "figures/fig7.pdf"):
        assert (again.parent / name).read_bytes() == (report.parent / name).read_bytes()


@pytest.mark.long
def test_a_study_without_any_run_still_has_a_page(tmp_path: Path):
    page = write_report(Evidence(STUDY, {}), ABOUT, tmp_path).read_text()
    assert "not run yet" in page


def test_the_table_agrees_only_if_the_ledger_has_the_printed_counts():
    found = evidence(noise)
    runs = {name: found.runs(name) for name in TABLE_NAMES}
    assert not any(row.agrees() for row in measured_table(runs))
    row = paper.TABLE_4[9]
    right = {"uploads": 1400, "updates": 21000, "exchanges": 78000, "mixings": 78000}
    runs[row.name] = {
        seed: result._replace(totals=right) for seed, result in runs[row.name].items()
    }
    assert [one.agrees() for one in measured_table(runs)].index(True) == 9


def test_a_shorter_run_agrees_with_its_share_of_what_is_printed():
    row = MeasuredRow(
        paper.TABLE_4[9],
        seeds=1,
        counted={"uploads": 84, "updates": 1260, "exchanges": 4680, "mixings": 4680},
        gradient_norm=UNKNOWN,
        initial_gradient_norm=UNKNOWN,
        utility=UNKNOWN,
    )
    assert row.agrees(num_epochs=30)
    assert not row.agrees(num_epochs=29)
    assert not row.agrees()
    assert not row._replace(counted={}).agrees(num_epochs=30)


def test_in_each_seed_the_worst_row_has_utility_0_and_the_best_1():
    found = evidence(noise)
    one_seed = {name: {3: found.runs(name)[3]} for name in TABLE_NAMES}
    values = [row.utility.value for row in measured_table(one_seed)]
    assert (min(values), max(values)) == (0.0, 1.0)


@pytest.mark.long
def test_runs_too_short_to_average_anything_have_a_page_and_no_utility(tmp_path: Path):
    found = evidence(noise)
    short = {
        key: one._replace(measured=None, uploads=0 * one.uploads)
        for key, one in found.results.items()
    }
    page = write_report(Evidence(STUDY, short), ABOUT, tmp_path).read_text()
    assert "infeasible" in page
