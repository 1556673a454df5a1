"""The results in this repository: whole, of one code, and told truly in README and docs."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from fmarl.cli.report import Report
from fmarl.report.format import counted, with_interval
from fmarl.report.mpl_style import Figure
from fmarl.report.page import Section, Text
from fmarl.report.statistics import mean_interval
from fmarl.reproduce.bound_section import bound_section
from fmarl.reproduce.claims import CLAIMS
from fmarl.reproduce.claims_section import effect_of
from fmarl.reproduce.measured_steps import step_rows
from fmarl.reproduce.measured_table import measured_table
from fmarl.reproduce.methods import (
    CONSENSUS,
    DECAY_92,
    IRL,
    TABLE_NAMES,
    TAU_1,
    TAU_1_15,
    TAU_15,
)
from fmarl.reproduce.results import read_about, read_results
from fmarl.reproduce.run_plan import PARTS, planned
from fmarl.reproduce.step_section import found, step_section
from fmarl.reproduce.study import make_study
from fmarl.reproduce.study_results import Evidence
from fmarl.reproduce.variants_section import variants_section
from fmarl.reproduce.verdicts import Verdict, together, weakest
from unit.reproduce.reading import tables_of, word_of
from unit.reproduce.written import README, REPRODUCTION, ROOT, check_written

FOLDER = ROOT / "results" / "paper"
OTHERS = [
    FOLDER.with_name(name)
    for name in (
        "short",
        "short-discount-0.99",
        "short-equal-steps",
        "short-even-updates",
        "short-sgd",
    )
]
"""Results with other choices, which the report shows beside these."""
HEADLINE = (IRL, TAU_1, TAU_15, TAU_1_15, DECAY_92, CONSENSUS)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return Evidence(make_study("paper"), read_results(FOLDER))


@pytest.fixture(scope="module")
def columns(evidence: Evidence) -> dict[str, Evidence]:
    """Every folder of results by its name."""
    studies = {folder: make_study("short", read_about(folder)["variant"]) for folder in OTHERS}
    others = {
        folder.name: Evidence(study, read_results(folder)) for folder, study in studies.items()
    }
    return {FOLDER.name: evidence, **others}


def test_every_result_is_one_of_the_plan(evidence: Evidence):
    wanted = {task.key for task in planned(evidence.study, PARTS, evidence.results)}
    assert evidence.results.keys() <= wanted


def test_results_with_other_choices_are_all_runs_of_table_4(columns: dict[str, Evidence]):
    for name in columns.keys() - {FOLDER.name}:
        part = planned(columns[name].study, ["table4"], columns[name].results)
        assert {task.key for task in part} == columns[name].results.keys()


@pytest.mark.parametrize("folder", [FOLDER, *OTHERS], ids=lambda folder: folder.name)
def test_results_say_which_code_and_libraries_made_them(folder: Path):
    about = read_about(folder)
    assert make_study(about["profile"], about["variant"]).name == folder.name
    assert re.fullmatch("[0-9a-f]{16}", about["code"])
    assert {"jax", "numpy", "libsumo"} <= about["versions"].keys()


def test_results_with_other_choices_are_of_one_code():
    assert len({read_about(folder)["code"] for folder in OTHERS}) == 1


def test_overheads_by_the_ledger_are_the_printed_ones_in_every_row_that_was_run(evidence):
    table = measured_table({name: evidence.runs(name) for name in TABLE_NAMES})
    assert [row.row.label for row in table if row.seeds and not row.agrees()] == []


def test_the_committed_report_is_what_the_documented_command_gives(tmp_path: Path):
    assert Report(runs=(FOLDER, *OTHERS), out=tmp_path, quiet=True).run() == 0
    again = (tmp_path / "report.html").read_text()
    assert _words(again) == _words((FOLDER / "report.html").read_text())


def _words(page: str) -> str:
    """The page without its drawings, whose digits depend on the processor."""
    return re.sub(r'src="data:[^"]*"', "", page)


def test_the_table_of_claims_says_what_the_results_say(evidence: Evidence, update_golden: bool):
    check_written(REPRODUCTION, "claims", _table(evidence), update=update_golden)


def test_the_table_of_bounds_says_what_the_results_say(evidence: Evidence, update_golden: bool):
    check_written(REPRODUCTION, "bounds", _bounds(evidence), update=update_golden)


def test_the_table_of_steps_says_what_the_results_say(evidence: Evidence, update_golden: bool):
    check_written(REPRODUCTION, "steps", _steps(evidence), update=update_golden)


def test_the_tables_of_choices_say_what_the_results_say(
    columns: dict[str, Evidence], update_golden: bool
):
    check_written(REPRODUCTION, "choices", _choices(columns), update=update_golden)


def test_the_headline_says_what_the_results_say(evidence: Evidence, update_golden: bool):
    check_written(README, "headline", _headline(evidence), update=update_golden)


def _table(evidence: Evidence) -> str:
    """Every claim with its verdicts, for the documentation."""
    lines = ["| | the paper says | at its η | each at its best η |", "|---|---|---|---|"]
    for claim in CLAIMS:
        decisions = [_decision(evidence.verdicts(claim, tuned=tuned)) for tuned in (False, True)]
        lines.append(f"| {claim.number} | {claim.says} ({claim.where}) | {' | '.join(decisions)} |")
    return "\n".join(lines) + "\n"


def _decision(verdicts: list[Verdict]) -> str:
    word = together(verdicts)
    if word in ("not run yet", "it is about η itself"):
        return word
    worst = weakest(verdicts)
    return f"**{word}**: {effect_of(worst)}; {counted(worst.seeds, 'seed')}"


def _bounds(evidence: Evidence) -> str:
    """The columns of the report's table that say whether bounds hold."""
    columns = ("run", "proved", "measured / corrected", "claimed", "measured / printed")
    return _markdown(bound_section(evidence), (*columns, "NAS at the end"))


def _steps(evidence: Evidence) -> str:
    return f"{found(step_rows(evidence))}\n\n{_markdown(step_section(evidence, Figure()))}"


def _choices(columns: dict[str, Evidence]) -> str:
    """What becomes of claims with other choices, in words, and how well methods learn with them."""
    others = {name: one for name, one in columns.items() if name != FOLDER.name}
    _, verdicts, areas = tables_of(variants_section(columns[FOLDER.name], others))
    words = [[says, *map(word_of, cells)] for says, *cells in verdicts.rows]
    return "\n".join([_lines(verdicts.header, words), _lines(areas.header, areas.rows)])


def _markdown(section: Section, columns: Sequence[str] = ()) -> str:
    """The only table of a section, or some of its columns."""
    [table] = tables_of(section)
    chosen = [table.header.index(name) for name in columns or table.header]
    header, *rows = [[row[index] for index in chosen] for row in (table.header, *table.rows)]
    return _lines(header, rows)


def _lines(header: Sequence[Text], rows: Sequence[Sequence[Text]]) -> str:
    lines = [f"| {' | '.join(map(str, row))} |" for row in (header, *rows)]
    return "\n".join([lines[0], f"|---|{'---:|' * (len(header) - 1)}", *lines[1:], ""])


def _headline(evidence: Evidence) -> str:
    """A method a line, and how many claims hold, for who reads only the first page."""
    lines = [
        "| method | NAS at the end | epochs until SUMO's NAS | uploads | exchanges | seeds |",
        "|---|---:|---:|---:|---:|---:|",
        *(_method_line(evidence, name) for name in HEADLINE),
    ]
    fixed, tuned = (_count(evidence, tuned=tuned) for tuned in (False, True))
    counts = f"Of the claims, at the paper's η: {fixed}; with each method at its best η: {tuned}."
    return "\n".join([*lines, "", counts, ""])


def _method_line(evidence: Evidence, name: str) -> str:
    runs = evidence.runs(name)
    scores = [
        with_interval(mean_interval(list(evidence.scores(name, measure).values())))
        for measure in ("final", "epochs")
    ]
    [[uploads, exchanges]] = {
        (result.totals["uploads"], result.totals["exchanges"]) for result in runs.values()
    }
    return f"| {name} | {' | '.join(scores)} | {uploads} | {exchanges} | {len(runs)} |"


def _count(evidence: Evidence, *, tuned: bool) -> str:
    """How many claims have which verdict; those that do not apply are not counted."""
    applied = [found for claim in CLAIMS if (found := evidence.verdicts(claim, tuned=tuned))]
    words = Counter(map(together, applied))
    order = ("supported", "not supported", "undecided", "not run yet")
    return ", ".join(f"{words[word]} {word}" for word in order if words[word])
