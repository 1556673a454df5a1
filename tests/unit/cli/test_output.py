"""What commands print is whole at any width, and comes out whatever it is written to."""

import re

import pytest
from rich.console import Console

from fmarl.cli import main, output

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def numbers(text: str) -> set[str]:
    return set(NUMBER.findall(text))


@pytest.fixture
def set_width(monkeypatch):
    def set_to(width: int) -> None:
        monkeypatch.setattr(output, "console", lambda: Console(width=width, highlight=False))

    return set_to


@pytest.mark.parametrize("width", [120, 100, 80, 60, 40, 20])
@pytest.mark.parametrize(
    "words",
    [
        ["bounds"],
        ["bounds", "--paper-table"],
        pytest.param(["bounds", "--truth"], marks=pytest.mark.long),
        ["topology", "paper-13"],
        ["world", "--about"],
        ["world", "merge", "--about"],
    ],
    ids=" ".join,
)
def test_no_number_is_split_at_any_width(words, width, set_width, capsys):
    set_width(300)
    main(words)
    whole = numbers(capsys.readouterr().out)
    set_width(width)
    main(words)
    narrow = capsys.readouterr().out
    assert numbers(narrow) <= whole
    assert all(len(line.rstrip()) <= width for line in narrow.splitlines() if " | " not in line)


def test_a_table_leaves_out_what_matters_least_and_says_so(set_width, capsys):
    columns, rows = ["run", "score", "started"], [["a-run", 1234.5, "2026-01-01"]]
    set_width(24)
    output.print_table("runs", columns, rows, least=["started", "score"])
    said = capsys.readouterr().out
    assert "1234.5" in said
    assert "2026" not in said
    assert "left out, for want of room: started" in " ".join(said.split())


def test_a_table_that_can_not_fit_becomes_a_block_per_row(set_width, capsys):
    set_width(12)
    output.print_table("t", ["a", "longer"], [["x", 1], ["a-very-long-name", 1234567.5]])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:4] == ["t", "", "a       x", "longer  1"]
    assert "longer  1234567.5" not in lines  # too long for the line, and still whole:
    assert "1234567.5" in lines


def test_json_is_whole_in_ascii(monkeypatch):
    import io
    import json
    import sys

    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    output.print_json({"name": "τ=15"})
    stream.flush()
    assert json.loads(stream.buffer.getvalue()) == {"name": "τ=15"}
