"""A run on a host, without the cluster around it: a copy, a process, and what comes back."""

import shutil
import signal
import time
from pathlib import Path

import pytest

from fmarl.engine.train import Run, begin, train
from fmarl.launch.folder_sync import read_folder, write_home
from fmarl.launch.host_run import HostRun, Look, Parcel, samples_of
from fmarl.records.jsonl import read_lines
from unit.engine.small_experiments import toy

SHORT = {"num_epochs": 2, "test_every": 1}


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Run:
    """A run whose samples others are measured on."""
    return train(toy(**SHORT), tmp_path_factory.mktemp("source") / "run")


def parcel(folder: Path, samples: str = "") -> Parcel:
    return Parcel(read_folder(folder), samples_of(samples), core=0, force=False)


def to_the_end(run: HostRun, home: Path) -> Look:
    while True:
        look = run.look()
        write_home(home, look.changes)
        if look.code is not None:
            return look
        time.sleep(0.05)


def test_a_run_measured_on_samples_finds_them_on_its_host_and_ends_as_at_home(source, tmp_path):
    samples = tmp_path / "samples"
    shutil.copytree(source.folder, samples)
    here = train(toy(**SHORT, samples=str(samples)), tmp_path / "here")
    home = begin(toy(**SHORT, samples=str(samples)), tmp_path / "home")
    description = (home / "run.json").read_bytes()
    run = HostRun(parcel(home, str(samples)))
    shutil.rmtree(samples)  # what is only at home is not to be found there

    look = to_the_end(run, home)

    assert (look.code, look.complaint) == (0, "")
    assert (home / "run.json").read_bytes() == description
    assert (home / "metrics.jsonl").read_bytes() == (here.folder / "metrics.jsonl").read_bytes()
    assert "expected_gradient_norm" in read_lines(home / "metrics.jsonl").records[-2]


def test_what_a_run_says_about_its_end_names_no_folder_of_the_host(tmp_path):
    home = begin(toy(**SHORT), tmp_path / "home")
    sent = parcel(home)
    run = HostRun(sent._replace(files={**sent.files, "metrics.jsonl/not": b"a file"}))

    look = to_the_end(run, tmp_path / "elsewhere")

    assert look.code not in (0, None)
    assert "{folder}" in look.complaint
    assert "/fmarl-run-" not in look.complaint


def test_a_signal_reaches_the_run_and_its_checkpoint_comes_back(tmp_path):
    home = begin(toy(num_epochs=100_000, test_every=1), tmp_path / "home")
    run = HostRun(parcel(home))
    while not list(read_lines(home / "metrics.jsonl").records):
        write_home(home, run.look().changes)
        time.sleep(0.05)

    run.send_signal(signal.SIGTERM)
    look = to_the_end(run, home)

    assert look.code == 128 + signal.SIGTERM
    assert list((home / "checkpoints").glob("*.json"))
    assert read_lines(home / "events.jsonl").records[-1]["code"] == "STOPPED"
