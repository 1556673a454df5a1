"""Training as a user does it: real processes, real signals, a real terminal, one-line errors."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.fmarl_command import fmarl_command
from fmarl.engine.run import begin, resume
from fmarl.records.jsonl import read_lines
from unit.engine.small_experiments import toy

TOY = ["--set", "num_agents=3", "epoch_steps=40", "targets=0.6", "--hidden", "8"]
TOY += ["--steps-per-update", "20"]
LONG = ["--num-epochs", "100000", "--test-every", "5"]
MARK = "FMARL_TEST_MARK"


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "fmarl", *words]


def _start(*words: str, mark: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        fmarl_command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, MARK: mark},
    )


def _left_behind(mark: str) -> list[int]:
    """Processes, of whatever parent, that carry the mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def _wait_for_none(mark: str) -> None:
    """A run that is ended at once can not wait for its worlds; they leave when they notice."""
    patience = 1200
    while _left_behind(mark) and patience:
        time.sleep(0.05)
        patience -= 1
    assert _left_behind(mark) == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("lines", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_signal_ends_a_run_well_and_it_can_be_resumed(number, code, lines, tmp_path):
    folder, mark = tmp_path / "run", f"{tmp_path}"
    process = _start("train", "toy-bumpy", *TOY, *LONG, "--out", str(folder), mark=mark)
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.send_signal(number)
    said, complaint = process.communicate(timeout=60)
    assert process.returncode == code
    assert complaint == ""
    assert f"resume {folder}" in said
    assert _left_behind(mark) == []
    events = [event["code"] for event in read_lines(folder / "events.jsonl").records]
    assert events == ["STOPPED"]
    assert list((folder / "checkpoints").glob("*.json"))


def test_a_second_signal_ends_a_run_at_once(tmp_path):
    folder, mark = tmp_path / "run", f"{tmp_path}"
    process = _start("train", "toy-bumpy", *TOY, *LONG, "--out", str(folder), mark=mark)
    assert process.stdout is not None
    process.stdout.readline()
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode in (130, -2)  # -2: Python itself was already leaving
    _wait_for_none(mark)
    resumed = _start("resume", str(folder), "--json", mark=mark)
    assert resumed.stdout is not None
    assert resumed.stdout.readline().startswith("{")
    resumed.send_signal(signal.SIGTERM)
    resumed.communicate(timeout=60)
    assert resumed.returncode == 143


def test_stop_and_resume_end_with_the_hash_of_an_uninterrupted_run(tmp_path):
    whole = resume(begin(toy(num_epochs=40), tmp_path / "whole"))
    folder = begin(toy(num_epochs=40), tmp_path / "stopped")
    process = _start("resume", str(folder))
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    done = subprocess.run(
        _command("resume", str(folder), "--json"), capture_output=True, text=True, timeout=120
    )
    *tests, facts = map(json.loads, done.stdout.splitlines())
    assert facts["finished"]
    assert facts["digest"] == whole.digest
    assert {"epoch", "test_reward"} <= tests[-1].keys()
    assert (folder / "metrics.jsonl").read_bytes() == (whole.folder / "metrics.jsonl").read_bytes()


def test_a_run_in_use_is_not_touched_by_a_second_process(tmp_path, fmarl):
    folder = tmp_path / "run"
    process = _start("train", "toy-bumpy", *TOY, *LONG, "--out", str(folder))
    assert process.stdout is not None
    process.stdout.readline()
    second = fmarl("resume", str(folder))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert str(process.pid) in second.stderr


def test_a_terminal_sees_a_live_table_and_gets_its_cursor_back(tmp_path):
    primary, secondary = pty.openpty()
    words = _command("train", "toy-bumpy", *TOY, "--num-epochs", "20", "--out", str(tmp_path / "r"))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(words, stdout=secondary, stderr=secondary, env=environment)
    os.close(secondary)
    seen = b""
    while True:
        try:
            piece = os.read(primary, 65536)
        except OSError:  # the terminal has no other end any more
            break
        seen += piece
    os.close(primary)
    assert process.wait(timeout=60) == 0
    text = seen.decode()
    assert "\x1b[?25l" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "20/20" in text


@pytest.mark.long
def test_several_seeds_train_side_by_side_and_are_listed(tmp_path, fmarl):
    words = ["--num-epochs", "4", "--test-every", "2", "--seeds", "3", "--out", str(tmp_path / "s")]
    done = fmarl("train", "toy-bumpy", *TOY, *words)
    assert done.returncode == 0, done.stderr
    listed = json.loads(fmarl("runs", str(tmp_path / "s"), "--json").stdout)
    assert [(row["run"], row["state"]) for row in listed] == [
        (f"seed-{seed}", "done") for seed in range(3)
    ]
    marks = json.loads(
        fmarl(
            "evaluate", *map(str, (tmp_path / "s").iterdir()), "--repetitions", "2", "--json"
        ).stdout
    )
    assert len(marks["runs"]) == 3


@pytest.mark.long
def test_a_config_file_and_a_run_s_own_description_repeat_an_experiment(tmp_path, fmarl):
    config = tmp_path / "toy.toml"
    config.write_text(
        'world = "toy-bumpy"\nset = ["num_agents=3", "epoch_steps=40"]\nnum_epochs = 2\n'
        "steps_per_update = 20\n[agent]\nhidden = [8]\n[together]\nsync_period = 2\n"
    )
    first = fmarl("train", "--config", str(config), "--out", str(tmp_path / "a"), "--json")
    description = str(tmp_path / "a" / "run.json")
    second = fmarl("train", "--config", description, "--out", str(tmp_path / "b"), "--json")
    third = fmarl(
        "train", "--config", description, "--seed", "9", "--out", str(tmp_path / "c"), "--json"
    )
    digests = [json.loads(one.stdout.splitlines()[-1])["digest"] for one in (first, second, third)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["train", "figure-ate"], "figure-eight"),
        (["train", "toy-bumpy", "--set", "num_agnts=3"], "num_agents"),
        (["train", "--method", "perodic"], "periodic"),
        (["train", "--profile", "papr"], "paper, printed, reference"),
        (["train", "--config", "no-such-file.json"], "can not be read"),
        (["train", "--steps-per-update", "7"], "a divisor"),
        (["train", "--algorithm", "tac", "gym:CartPole-v1"], "PPO"),
        (["train", "--tac.batch-size", "7"], "the algorithm is ppo"),
        (["train", "--seeds", "0"], "1 to 10000"),
        (["train", "--learning-rate", "nan"], "learning_rate"),
        (["train", "--method", "consensus", "--graph", "0-1"], "connected"),
        (["train", "--method", "consensus", "--consensus-step", "9"], "consensus_step"),
        (["train", "--optimiser", "magic"], "adam"),
        (["resume", "no-such-run"], "no-such-run"),
        (["resume"], "runs"),
        (["evaluate", "no-such-run"], "no-such-run"),
        (["runs", "no-such-folder"], "no-such-folder"),
    ],
)
def test_bad_input_gets_one_line_and_nothing_is_made(words, line, fmarl_here, tmp_path):
    out = ["--out", str(tmp_path / "run")] if words[0] == "train" else []
    done = fmarl_here(*words, *out)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert line in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_run_that_can_not_go_on_says_why_by_its_exit_code(tmp_path, fmarl):
    wild = ["--learning-rate", "1e38", "--optimiser", "sgd", "--method", "independent"]
    words = [*TOY, *wild, "--max-bad-updates", "2", "--test-every", "0"]
    done = fmarl("train", "toy-bumpy", *words, "--out", str(tmp_path / "wild"))
    assert done.returncode == 4
    assert "too large" in done.stderr
    assert done.stderr.count("\n") == 1
    for file in (tmp_path / "wild" / "checkpoints").glob("*.safetensors"):
        file.write_bytes(b"")
    assert fmarl("resume", str(tmp_path / "wild")).returncode == 6


@pytest.mark.long
def test_a_path_that_can_not_be_a_run_is_refused_before_anything_starts(tmp_path, fmarl):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/run")):
        done = fmarl("train", "toy-bumpy", *TOY, "--out", str(place))
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
