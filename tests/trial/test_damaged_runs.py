"""Every command that reads runs, against runs that are damaged in every way of `damage.py`.

Each file of a run is damaged in each way, with one command in turn; over all commands there would
be some hundreds more, which `random_trial.py` plays. One sound run lies beside, and is still seen.
"""

import contextlib
import shutil
from itertools import cycle, product
from pathlib import Path

import pytest

from fmarl import train
from fmarl.errors import BAD_INPUT
from fmarl.launch.exit_codes import EXIT_CODES
from trial.damage import DAMAGES, damaged_copy, files_of
from trial.scratch import TINY
from trial.test_inputs import answer

COMMANDS = (
    "runs .",
    "runs . --json",
    "report .",
    "evaluate damaged",
    "resume damaged",
    "runs damaged",
)
EXPECTED = {0, BAD_INPUT, *EXIT_CODES.values()}
FILES = (
    "run.json",
    "method.json",
    "metrics.jsonl",
    "events.jsonl",
    "checkpoints/newest.json",
    "checkpoints/newest.safetensors",
)
CASES = [
    (file, damage, command)
    for (file, damage), command in zip(product(FILES, DAMAGES), cycle(COMMANDS), strict=False)
]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(TINY, tmp_path_factory.mktemp("damaged") / "good").folder


def named(run: Path, file: str) -> str:
    """A file's own name; checkpoints have numbers in theirs."""
    if "newest" not in file:
        return file
    ending = Path(file).suffix
    return [
        name for name in files_of(run) if name.startswith("checkpoints") and name.endswith(ending)
    ][-1]


@pytest.mark.parametrize(("file", "damage", "command"), CASES)
def test_a_damaged_run_gets_one_line_and_hides_no_other(
    good: Path, tmp_path: Path, file: str, damage: str, command: str
):
    shutil.copytree(good, tmp_path / "sound")
    damaged_copy(good, tmp_path / "damaged", named(good, file), damage, seed=len(file))
    with contextlib.chdir(tmp_path):
        code, out, err = answer(command)
    assert code in EXPECTED, err
    assert "Traceback" not in out + err
    assert len(err.splitlines()) <= 1 or code == 0, err
    if command == "runs .":
        assert "sound" in out
