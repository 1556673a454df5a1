"""Careless and hostile input, a line each in `inputs.txt`: the exit code, one line, nothing made.

    2 | trian | Did you mean train?

A line is the exit code, the words after `fmarl`, and what the answer must contain. TOY stands for
`train toy-quadratic --steps-per-update 50`. Commands run in a folder that `scratch.py` fills. To
add an input, add a line.
"""

import contextlib
import io
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fmarl.cli import main
from trial.scratch import contents, fill

TOY = "train toy-quadratic --steps-per-update 50"


class Input(NamedTuple):
    """A line of the file."""

    code: int
    words: str
    wanted: str


def read_inputs() -> list[Input]:
    """All lines but comments."""
    lines = Path(__file__).with_name("inputs.txt").read_text().splitlines()
    parts = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    return [Input(int(code), words, wanted) for code, words, wanted in parts]


INPUTS = read_inputs()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder, which is the current one meanwhile."""
    folder = tmp_path_factory.mktemp("trial")
    fill(folder)
    with contextlib.chdir(folder):
        yield folder


def answer(words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command, run in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(shlex.split(words.replace("TOY", TOY)))
        except SystemExit as stop:  # as --help does
            code = int(stop.code or 0)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("given", INPUTS, ids=lambda given: given.words[:60])
def test_the_answer_is_as_written(given: Input, scratch: Path):
    before = contents(scratch)
    code, out, err = answer(given.words)
    assert code == given.code, err
    assert given.wanted in out + err
    assert ("Traceback" in err) == (code == 7)  # of the user's own code, and only theirs
    assert "/fmarl/" not in err
    if code == 2:
        complaints = [line for line in err.splitlines() if not line.startswith("fmarl: warning: ")]
        assert len(complaints) == 1, err
        assert complaints[0].startswith("fmarl: ")
        assert "---" not in complaints[0]  # the frame of a parser's panel
        assert contents(scratch) == before


def test_there_are_many_and_none_twice():
    words = [given.words for given in INPUTS]
    assert len(set(words)) == len(words) >= 250
    assert all(given.wanted for given in INPUTS)
