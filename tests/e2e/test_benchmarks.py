"""Every benchmark runs in a tiny size and prints figures; how large they are is not tested."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
MORE_WORDS = {"training.py": ["--peers"], "peers/fmarl_slots.py": ["bare"]}
NEEDS_TORCH = {"peers/sb3_slots.py", "peers/rllib_slots.py"}
SLOW = {"engines.py", "hierarchy.py", "moving_loss.py", "training.py"}
"""Those that start Ray, or train; they run in `make test-long`."""
SCRIPTS = [
    pytest.param(script, marks=[pytest.mark.long] if script in SLOW else [])
    for script in sorted(
        str(path.relative_to(FOLDER))
        for path in FOLDER.rglob("*.py")
        if 'if __name__ == "__main__"' in path.read_text()
    )
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_runs_and_prints_figures(script):
    if script in NEEDS_TORCH and not find_spec("torch"):
        pytest.skip("torch is not installed here")
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *MORE_WORDS.get(script, []), "--smoke"],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d", done.stdout)
