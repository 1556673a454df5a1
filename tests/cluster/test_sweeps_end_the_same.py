"""Sweeps on a local Ray cluster end with the bits of runs in this process, whatever is killed."""

import os
import signal
from pathlib import Path

import pytest

from cluster.sweeps import (
    alone,
    assert_same_run,
    codes,
    experiment,
    kill,
    marked,
    read_lines_of,
    start,
    wait_until,
)
from fmarl.engine.run import begin
from fmarl.records.lock import is_held

pytestmark = pytest.mark.cluster
LONG = 400
"""Epochs that no machine is through with before it is disturbed."""
SCRATCH = ("fmarl-ray-*", "fmarl-run-*")


def left_scratch() -> set[Path]:
    """Folders that no process holds any more."""
    found = [path for pattern in SCRATCH for path in Path("/tmp").glob(pattern)]
    return {path for path in found if not is_held(path)}


def test_runs_spread_over_a_cluster_end_with_the_files_of_runs_here(tmp_path):
    before, mark = left_scratch(), str(tmp_path)
    folders = [str(begin(experiment(seed), tmp_path / f"seed-{seed}")) for seed in range(3)]
    process = start("resume", *folders, "--engine", "ray", mark=mark)
    said, complaint = process.communicate()
    assert (process.returncode, complaint) == (0, "")
    assert "seed-2  epoch 20/20" in said
    wait_until(lambda: marked(mark) == [], "nothing of it runs any more")
    wait_until(lambda: left_scratch() <= before, "its folders are gone")
    for seed, folder in enumerate(folders):
        assert codes(Path(folder)) == []
        assert_same_run(Path(folder), alone(tmp_path / f"alone-{seed}", seed))


def test_ctrl_c_comes_home_and_a_killed_actor_costs_nothing_but_time(tmp_path):
    mark = str(tmp_path)
    folders = [begin(experiment(seed, LONG), tmp_path / f"seed-{seed}") for seed in range(2)]
    words = ["resume", *map(str, folders), "--engine", "ray"]
    stopped = start(*words, mark=mark)
    read_lines_of(stopped, "seed-0", "seed-1")
    os.killpg(stopped.pid, signal.SIGINT)  # as Ctrl-C does, Ray's own processes included
    said, complaint = stopped.communicate()
    assert (stopped.returncode, complaint) == (130, "")
    assert f"resume {folders[0]} {folders[1]}" in said
    wait_until(lambda: marked(mark) == [], "nothing of it runs any more")
    for folder in folders:
        assert not is_held(folder)
        assert codes(folder) == ["STOPPED"]
        assert list((folder / "checkpoints").glob("*.json"))
    resumed = start(*words, mark=mark)
    wait_until(lambda: all("RESUMED" in codes(folder) for folder in folders), "both are resumed")
    kill(marked(mark, "ray::HostRun")[:1])
    _, complaint = resumed.communicate()
    assert (resumed.returncode, complaint) == (0, "")
    wait_until(lambda: marked(mark) == [], "nothing of it runs any more")
    happened = sorted(codes(folder) for folder in folders)
    assert happened == [["STOPPED", "RESUMED"], ["STOPPED", "RESUMED", "HOST_LOST", "RESUMED"]]
    for seed, folder in enumerate(folders):
        assert_same_run(folder, alone(tmp_path / f"alone-{seed}", seed, LONG))


def test_a_killed_driver_leaves_no_process_and_a_run_that_goes_on_here(tmp_path):
    mark, folder = str(tmp_path), tmp_path / "run"
    begin(experiment(0, LONG), folder)
    begin(experiment(1, LONG), tmp_path / "other")
    words = ["resume", str(folder), str(tmp_path / "other"), "--engine", "ray"]
    process = start(*words, mark=mark)
    read_lines_of(process, "run", "run")
    assert marked(mark, "fmarl.launch.run_worker")
    process.kill()
    process.communicate()
    wait_until(lambda: marked(mark) == [], "the cluster and its runs are gone")
    assert_same_run(folder, alone(tmp_path / "alone", 0, LONG))
    assert codes(folder)[:1] == ["LOCK_STALE"]
