"""What the pages say about the code is checked against the code."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from fmarl.cli import COMMANDS

ROOT = Path(__file__).parents[3]
SOURCE = "\n".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))


def names_in_notation() -> list[str]:
    rows = [line.split("|") for line in (ROOT / "docs/notation.md").read_text().splitlines()]
    return [name for row in rows if len(row) > 3 for name in re.findall(r"`(\w+)`", row[2])]


@pytest.mark.parametrize("name", names_in_notation())
def test_every_name_of_the_notation_is_used_in_the_code(name):
    assert re.search(rf"(def {name}\(|\b{name}: |\b{name} =|for {name} in)", SOURCE)


def test_the_notation_has_a_row_for_each_paper_symbol_of_the_records():
    from dataclasses import fields

    from fmarl.theory import Plan, Problem

    documented = set(names_in_notation())
    assert {field.name for record in (Problem, Plan) for field in fields(record)} <= documented


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name
)
def test_every_example_runs_and_says_something(example, capsys, monkeypatch):
    monkeypatch.syspath_prepend(example.parent)  # as Python does with a script's folder
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_the_readme_table_is_what_the_command_prints(fmarl):
    done = fmarl("bounds", "--truth")
    bounds = (ROOT / "README.md").read_text().split("## Do the bounds hold?")[1].split("## ")[0]
    rows = [line for line in bounds.splitlines() if line.startswith("| FIRL")]
    printed = [line.split() for line in done.stdout.splitlines() if line.strip().startswith("FIRL")]
    assert len(rows) == len(printed) == 6
    for row, cells in zip(rows, printed, strict=True):
        numbers = [cell.strip(" *") for cell in row.split("|")[2:-1]]
        assert numbers == [word for word in cells if re.fullmatch(r"[\d.]+", word)][-5:]


@pytest.mark.parametrize(("page", "words"), [("README.md", 2), ("docs/worlds.md", 0)])
def test_the_python_on_a_page_runs(page, words):
    code = re.search(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert code is not None
    done = subprocess.run(
        [sys.executable, "-c", code[1]], capture_output=True, text=True, check=True
    )
    assert len(done.stdout.split()) == words


def test_every_command_is_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    assert all(f"`fmarl {name}" in readme for name in COMMANDS)


def test_every_file_a_page_links_to_exists():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_prose_is_wrapped_at_120_columns():
    """Tables, commands and pictures can not be."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        lines = [line for line in prose.splitlines() if not re.match(r"\s*(\||!\[|`)", line)]
        assert [line for line in lines if len(line) > 120] == [], page
