"""What `--engine` and `--address` refuse, before anything is made or joined."""

import subprocess
import sys

import pytest

WITHOUT_RAY = """
import importlib.machinery, sys

class Blind(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "ray" else super().find_spec(name, path, target)

finders = sys.meta_path
finders[finders.index(importlib.machinery.PathFinder)] = Blind
from fmarl.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["train", "toy-bumpy", "--address", "head:6379"], "Add --engine ray"),
        (["resume", "run", "--address", "head:6379"], "Add --engine ray"),
        (["reproduce", "--address", "head:6379"], "Add --engine ray"),
        (["train", "toy-bumpy", "--engine", "ray", "--jobs", "-1"], "0 or more"),
        (["train", "toy-bumpy", "--engine", "rai"], "in-process"),
    ],
)
def test_what_can_not_be_gets_one_line_and_nothing_is_made(words, line, tmp_path, fmarl_here):
    out = ["--out", str(tmp_path / "out")] if words[0] != "resume" else []
    done = fmarl_here(*words, *out)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert line in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words", [("train", "toy-bumpy", "--engine", "ray"), ("doctor", "--address", "head:6379")]
)
def test_without_ray_the_line_says_how_to_get_it(words, tmp_path):
    out = ["--out", str(tmp_path / "out")] if words[0] == "train" else []
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RAY, *words, *out], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'fmarl[ray]'" in done.stderr
    assert not (tmp_path / "out").exists()
