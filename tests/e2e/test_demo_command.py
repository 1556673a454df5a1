"""`fmarl demo` as a newcomer runs it: stopped in the midst of it, gone on with, and run again."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from e2e.fmarl_command import fmarl_command
from fmarl.records.jsonl import read_lines

pytestmark = pytest.mark.long
SHORT = ("--num-epochs", "2", "--no-page", "--json")


def test_a_demo_that_was_stopped_goes_on_and_the_next_has_a_folder_of_its_own(tmp_path, fmarl):
    place = tmp_path / "demo"
    stopped = _stopped_when(place / "irl" / "metrics.jsonl", "--out", str(place), *SHORT)
    assert stopped == 130

    done = fmarl("demo", "--out", str(place), *SHORT)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [row["method"].split()[0] for row in found["methods"]] == [
        "IRL",
        "FIRL",
        "FIRL_D",
        "FIRL_C",
    ]
    assert 0.2 < found["sumo"] < 0.3
    for name in ("irl", "firl", "firl-d", "firl-c"):
        lines = read_lines(place / name / "metrics.jsonl").records
        assert [line["epoch"] for line in lines if line["kind"] == "test"] == [0, 2]

    again = fmarl("demo", "--out", str(place), *SHORT)
    assert json.loads(again.stdout)["folder"] == f"{place}-2"


def _stopped_when(there: Path, *words: str) -> int:
    """Press Ctrl-C when a file has something in it; how the demo ends then."""
    with subprocess.Popen(fmarl_command("demo", *words), stdout=subprocess.DEVNULL) as demo:
        while not (there.exists() and there.stat().st_size):
            assert demo.poll() is None
            time.sleep(0.1)
        demo.send_signal(signal.SIGINT)
        return demo.wait(timeout=120)
