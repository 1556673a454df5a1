"""Sweeps over several hosts: who fits gets runs, and who dies loses them to who came later."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fmarl
from cluster.changed_sources import changed_copy
from cluster.namespaces import QUICK_HEALTH_CHECKS, Host, Hosts
from cluster.sweeps import alone, assert_same_run, codes, experiment, read_lines_of
from fmarl.engine.run import begin

pytest.importorskip("ray")
pytestmark = pytest.mark.cluster

COMMAND = (sys.executable, "-m", "fmarl")
OTHER_VERSION = "9.9.9"
LONG = 200
"""Epochs that are not over before the first of them is seen at home and the host is killed."""
NORMAL_PRIORITY = {"worker_niceness": 0}
"""Ray lets whatever else a machine does go before what it runs."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Host]]:
    """A head without cores, a host with another fmarl, one that fits, and one without Ray yet."""
    version = f'"{fmarl.__version__}"'
    other = changed_copy(tmp_path_factory.mktemp("o"), "__init__.py", version, f'"{OTHER_VERSION}"')
    with Hosts(4) as made:
        head, odd, first, _ = made
        head.start_ray(cores=0, settings=QUICK_HEALTH_CHECKS)
        odd.start_ray(head=head, code=other, settings=NORMAL_PRIORITY)
        first.start_ray(head=head, settings=NORMAL_PRIORITY)
        yield made


def test_doctor_says_which_host_does_not_fit(hosts: list[Host]):
    head, odd, first, _ = hosts
    asked = head.run([*COMMAND, "doctor", "--json", "--address", head.ray_address])
    said, _ = asked.communicate()
    states = {check["name"]: (check["state"], check["fix"]) for check in json.loads(said)}
    assert states[f"host {first.address}"] == ("ok", "")
    state, fix = states[f"host {odd.address}"]
    assert state == "low"
    assert f"fmarl {OTHER_VERSION}, here {fmarl.__version__}" in fix


def test_runs_of_a_host_that_dies_go_on_at_one_that_came_later(hosts: list[Host], tmp_path: Path):
    head, odd, first, later = hosts
    long, short = begin(experiment(0, LONG), tmp_path / "a"), begin(experiment(1), tmp_path / "b")
    words = ["resume", str(long), str(short), "--engine", "ray", "--address", head.ray_address]
    sweep = head.run([*COMMAND, *words])
    read_lines_of(sweep, "a")
    for pid in first.processes():
        os.kill(pid, signal.SIGKILL)
    later.start_ray(head=head, settings=NORMAL_PRIORITY)
    _, complaint = sweep.communicate()
    assert sweep.returncode == 0, complaint
    assert complaint.count("\n") == 1
    assert f"host {odd.address} gets no runs: fmarl {OTHER_VERSION}" in complaint
    assert codes(long) == ["HOST_LOST"]
    assert codes(short) == []
    assert_same_run(long, alone(tmp_path / "alone-0", 0, LONG))
    assert_same_run(short, alone(tmp_path / "alone-1", 1))


def test_a_cluster_whose_head_dies_is_given_up_in_one_line_and_its_runs_go_on_here(tmp_path: Path):
    runs = [begin(experiment(seed, LONG), tmp_path / name) for seed, name in enumerate("ab")]
    with Hosts(2) as [head, host]:
        head.start_ray(cores=0)
        host.start_ray(head=head, settings=NORMAL_PRIORITY)
        words = ["resume", *map(str, runs), "--engine", "ray", "--address", head.ray_address]
        sweep = host.run([*COMMAND, *words])
        read_lines_of(sweep, "a")
        head.kill_head()
        _, complaint = sweep.communicate()
    assert sweep.returncode == 3
    assert complaint.count("\n") == 1
    assert f"its head at {head.ray_address} does not answer" in complaint
    for seed, run in enumerate(runs):
        assert_same_run(run, alone(tmp_path / f"alone-{seed}", seed, LONG))
