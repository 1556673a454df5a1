"""A run on a host, without the cluster around it: a copy, a process, and what comes back."""

import shutil
import signal
import time
from pathlib import Path

import pytest

from fmarl.engine.run import Run, begin, train
from fmarl.launch.folder_sync import apply_changes, read_folder
from fmarl.launch.host_run import HostRun, Poll, RunBundle, samples_of
from fmarl.records.jsonl import read_lines
from unit.engine.small_experiments import toy

SHORT = {"num_epochs": 2, "test_every": 1}


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Run:
    """A run whose samples others are measured on."""
    return train(toy(**SHORT), tmp_path_factory.mktemp("source") / "run")


def bundle(folder: Path, samples: str = "") -> RunBundle:
    return RunBundle(read_folder(folder), samples_of(samples), core=0, force=False)


def to_the_end(run: HostRun, home: Path) -> Poll:
    while True:
        poll = run.poll()
        apply_changes(home, poll.changes)
        if poll.code is not None:
            return poll
        time.sleep(0.05)


def test_a_run_measured_on_samples_finds_them_on_its_host_and_ends_as_at_home(source, tmp_path):
    samples = tmp_path / "samples"
    shutil.copytree(source.folder, samples)
    here = train(toy(**SHORT, samples=str(samples)), tmp_path / "here")
    home = begin(toy(**SHORT, samples=str(samples)), tmp_path / "home")
    description = (home / "run.json").read_bytes()
    run = HostRun(bundle(home, str(samples)))
    shutil.rmtree(samples)  # what is only at home is not to be found there

    poll = to_the_end(run, home)

    assert (poll.code, poll.complaint) == (0, "")
    assert (home / "run.json").read_bytes() == description
    assert (home / "metrics.jsonl").read_bytes() == (here.folder / "metrics.jsonl").read_bytes()
    assert "expected_gradient_norm" in read_lines(home / "metrics.jsonl").records[-2]


def test_what_a_run_says_about_its_end_names_no_folder_of_the_host(tmp_path):
    home = begin(toy(**SHORT), tmp_path / "home")
    sent = bundle(home)
    run = HostRun(sent._replace(files={**sent.files, "metrics.jsonl/not": b"a file"}))

    poll = to_the_end(run, tmp_path / "elsewhere")

    assert poll.code not in (0, None)
    assert "{folder}" in poll.complaint
    assert "/fmarl-run-" not in poll.complaint


def test_a_signal_reaches_the_run_and_its_checkpoint_comes_back(tmp_path):
    home = begin(toy(num_epochs=100_000, test_every=1), tmp_path / "home")
    run = HostRun(bundle(home))
    while not list(read_lines(home / "metrics.jsonl").records):
        apply_changes(home, run.poll().changes)
        time.sleep(0.05)

    run.send_signal(signal.SIGTERM)
    poll = to_the_end(run, home)

    assert poll.code == 128 + signal.SIGTERM
    assert list((home / "checkpoints").glob("*.json"))
    assert read_lines(home / "events.jsonl").records[-1]["code"] == "STOPPED"
