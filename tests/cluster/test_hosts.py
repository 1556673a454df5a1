"""Several hosts on one machine are what tests with several hosts need them to be."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fmarl
from cluster.changed_sources import changed_copy
from cluster.driver import Driver
from cluster.namespaces import NETWORK, Host, Hosts, remove_leftovers
from fmarl.cluster.connect import ANSWER_SECONDS, CONNECT_SECONDS

pytest.importorskip("ray")
pytestmark = pytest.mark.cluster

OTHER_VERSION = "9.9.9"
ADDRESSES = [f"{NETWORK}.{number}" for number in (1, 2, 3)]
REFUSED_SECONDS = CONNECT_SECONDS + ANSWER_SECONDS + 60.0
"""What `fmarl.cluster.connect` promises, and the time that a busy machine takes to load Python."""


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Host]]:
    """Three hosts, of which the last has another fmarl."""
    folder = tmp_path_factory.mktemp("other")
    code = changed_copy(folder, "__init__.py", f'"{fmarl.__version__}"', f'"{OTHER_VERSION}"')
    with Hosts(3) as made:
        head, second, third = made
        head.start_ray()
        second.start_ray(head=head)
        third.start_ray(head=head, code=code)
        yield made


@pytest.fixture(scope="module")
def driver(hosts: list[Host]) -> Driver:
    return Driver(hosts[0], hosts[0].ray_address)


def test_a_driver_sees_every_host_and_has_work_done_on_each(driver: Driver):
    assert driver.ask("hosts") == ADDRESSES
    assert driver.ask("spread", len(ADDRESSES)) == ADDRESSES


def test_a_host_that_is_cut_off_answers_when_it_is_healed(driver: Driver, hosts: list[Host]):
    _, second, _ = hosts
    assert driver.ask("place", second.address) == 1

    second.cut()
    driver.ask("call", second.address)
    assert driver.ask("outcome", 1.0) is None
    second.heal()

    assert driver.ask("outcome", 60.0) == 2


def test_a_host_can_have_other_code_than_the_rest(driver: Driver):
    _, second, third = ADDRESSES
    driver.ask("place", second)
    driver.ask("place", third)
    assert driver.ask("version", second) != OTHER_VERSION
    assert driver.ask("version", third) == OTHER_VERSION


def test_a_wrong_token_is_refused_in_one_line(hosts: list[Host]):
    head = hosts[0]
    words = [sys.executable, "-m", "fmarl", "doctor", "--address", head.ray_address]
    refused = head.run(words, RAY_AUTH_TOKEN="a-token-of-somebody-else")

    _, problem = refused.communicate(timeout=REFUSED_SECONDS)

    assert refused.returncode == 2
    assert problem.count("\n") == 1
    assert "token" in problem


def test_doctor_in_a_host_finds_that_the_others_fit(hosts: list[Host]):
    head, second, _ = hosts
    words = [sys.executable, "-m", "fmarl", "doctor", "--json", "--address", head.ray_address]

    said, _ = head.run(words).communicate(timeout=300)

    states = {check["name"]: check["state"] for check in json.loads(said)}
    assert states[f"host {head.address}"] == states[f"host {second.address}"] == "ok"


def test_nothing_outlives_its_host():
    with Hosts(1) as [host]:
        host.run(["setsid", "--fork", "sleep", "1000"]).wait()
        host.start_ray()
        one, *others = host.processes()
        assert len(others) > 1
        network = _network(one)
        assert network in _networks()

    assert network not in _networks()


LEFT_BEHIND = """
import os, signal
from cluster.namespaces import Hosts

with Hosts(1) as [host]:
    host.run(["setsid", "--fork", "sleep", "1000"]).wait()
    print(*host.processes(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_test_run_left_is_removed_by_the_next():
    with Hosts(1) as [neighbour]:
        neighbour.run(["sleep", "1000"])
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        killed = subprocess.run(
            [sys.executable, "-c", LEFT_BEHIND], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert killed.returncode == -signal.SIGKILL
        network = _network(int(killed.stdout))
        assert network in _networks()

        remove_leftovers()

        assert network not in _networks()
        assert neighbour.processes()


def _network(pid: int) -> str:
    """In which network a process is; empty if it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""


def _networks() -> set[str]:
    return {_network(int(name)) for name in os.listdir("/proc") if name.isdecimal()}
