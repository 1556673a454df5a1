"""A run trains to its end whoever reads what it shows, and ends at once when told so twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOY = "toy-bumpy --set num_agents=2 --steps-per-update 20 --hidden 8 --test-every 1"


def train(folder: Path, rest: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m fmarl train {TOY} --num-epochs 5 --out {folder} {rest}"
    words = ["bash", "-o", "pipefail", "-c", command]
    full = {**os.environ, **environment}
    return subprocess.run(words, capture_output=True, text=True, env=full, check=False)


@pytest.mark.parametrize(
    ("rest", "environment"),
    [
        ("| head -1", {}),
        pytest.param("--json | head -1", {}, marks=pytest.mark.long),
        pytest.param("2>&1 | true", {}, marks=pytest.mark.long),
        pytest.param(">&- 2>&-", {}, marks=pytest.mark.long),
        ("| cat", {"PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C"}),
    ],
)
def test_training_ends_well_whoever_reads(tmp_path, rest, environment):
    done = train(tmp_path / "τ", rest, **environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    lines = (tmp_path / "τ" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["epoch"] == 5
    assert any((tmp_path / "τ" / "checkpoints").glob("*.safetensors"))


def test_two_signals_end_training_at_once(tmp_path):
    words = f"-m fmarl train {TOY} --num-epochs 1000000 --out {tmp_path / 'run'}".split()
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert process.wait(20) in (130, 143)
        assert time.monotonic() - began < 10
