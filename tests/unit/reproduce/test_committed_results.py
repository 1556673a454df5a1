"""The results in this repository: whole, of one code, and told truly in the committed report."""

import re
from pathlib import Path

import pytest
from docs.generate import OTHER_CHOICES, RESULTS, committed, other_choices

from fmarl.cli.report import Report
from fmarl.reproduce.paper import PARTS, TABLE_NAMES
from fmarl.reproduce.results import read_about
from fmarl.reproduce.run_plan import planned
from fmarl.reproduce.study import make_study
from fmarl.reproduce.table4 import measured_table


def test_every_result_is_one_of_the_plan():
    evidence = committed()
    wanted = {task.key for task in planned(evidence.study, PARTS, evidence.results)}
    assert evidence.results.keys() <= wanted


def test_results_with_other_choices_are_all_runs_of_table_4():
    for other in other_choices().values():
        part = planned(other.study, ["table4"], other.results)
        assert {task.key for task in part} == other.results.keys()


@pytest.mark.parametrize("folder", [RESULTS, *OTHER_CHOICES], ids=lambda folder: folder.name)
def test_results_say_which_code_and_libraries_made_them(folder: Path):
    about = read_about(folder)
    assert make_study(about["profile"], about["variant"]).name == folder.name
    assert re.fullmatch("[0-9a-f]{16}", about["code"])
    assert {"jax", "numpy", "libsumo"} <= about["versions"].keys()


def test_results_with_other_choices_are_of_one_code():
    assert len({read_about(folder)["code"] for folder in OTHER_CHOICES}) == 1


def test_overheads_by_the_ledger_are_the_printed_ones_in_every_row_that_was_run():
    table = measured_table({name: committed().runs(name) for name in TABLE_NAMES})
    assert [row.row.label for row in table if row.seeds and not row.agrees()] == []


def test_the_committed_report_is_what_the_documented_command_gives(tmp_path: Path, monkeypatch):
    """But for its drawings, whose digits depend on the processor: they are drawn, and not saved."""
    for module in ("report.mpl_style", "reproduce.report_page"):
        monkeypatch.setattr(f"fmarl.{module}.figure_bytes", lambda figure, kind: b"")
    assert Report(runs=(RESULTS, *OTHER_CHOICES), out=tmp_path, quiet=True).run() == 0
    again = (tmp_path / "report.html").read_text()
    assert _words(again) == _words((RESULTS / "report.html").read_text())
    drawn = [{path.name for path in (one / "figures").iterdir()} for one in (tmp_path, RESULTS)]
    assert drawn[0] == drawn[1]


def _words(page: str) -> str:
    return re.sub(r'src="data:[^"]*"', "", page)
