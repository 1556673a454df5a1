"""Which cores are used, by what hosts say; those here are made up, and say what a test wants."""

import pytest

from fmarl.cluster import connect as head
from fmarl.cluster.connect import ClusterLost
from fmarl.cluster.hosts import Answer, Host
from fmarl.errors import BadInput
from fmarl.launch import core_pool
from fmarl.launch.core_pool import CorePool

OURS = {"jax": "1.0"}
FINE = Answer(OURS, "")
ODD = Answer({"jax": "2.0"}, "")


class Network:
    """Hosts by name and cores, and what each answers; None for one that is silent."""

    def __init__(self) -> None:
        self.cores = {"a": 2, "b": 2}
        self.says: dict[str, Answer | None] = {"a": FINE, "b": FINE}
        self.head_is_there = True

    def hosts(self) -> list[Host]:
        return [Host(name, f"host-{name}", cores, 0) for name, cores in self.cores.items()]

    def answer(self, promise: Host, seconds: float) -> Answer | None:
        return self.says[promise.node_id]


@pytest.fixture
def network(monkeypatch) -> Network:
    network = Network()
    monkeypatch.setattr(core_pool, "hosts", network.hosts)
    monkeypatch.setattr(core_pool, "ask_versions", lambda host: host)
    monkeypatch.setattr(core_pool, "answer", network.answer)
    monkeypatch.setattr(core_pool, "versions_here", lambda: OURS)
    monkeypatch.setattr(head, "head_address", lambda: "head:1")
    monkeypatch.setattr(head, "listens", lambda address: network.head_is_there)
    for part, name in (
        (core_pool, "SCAN_SECONDS"),
        (core_pool, "ANSWER_SECONDS"),
        (head, "CHECK_SECONDS"),
        (head, "HEAD_SECONDS"),
    ):
        monkeypatch.setattr(part, name, 0.0)
    return network


def taken(found: CorePool) -> list[tuple[str, int]]:
    leases = iter(found.take, None)
    return [(lease.host.node_id, lease.core) for lease in leases if lease]


def test_hosts_are_filled_evenly_and_jobs_limits_how_many_are_used(network):
    assert taken(CorePool(jobs=0, force=False)) == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert taken(CorePool(jobs=3, force=False)) == [("a", 0), ("b", 0), ("a", 1)]


def test_a_host_with_other_versions_is_named_once_and_gets_nothing_unless_forced(network, capsys):
    network.says["b"] = ODD
    assert taken(CorePool(jobs=0, force=False)) == [("a", 0), ("a", 1)]
    said = capsys.readouterr().err
    assert said == "fmarl: host host-b gets no runs: jax 2.0, here 1.0\n"
    assert len(taken(CorePool(jobs=0, force=True))) == 4


def test_no_host_that_fits_is_bad_input_that_says_why(network):
    network.says = {"a": ODD, "b": Answer({}, "No module named 'fmarl'")}
    with pytest.raises(BadInput, match=r"jax 2\.0, here 1\.0"):
        CorePool(jobs=0, force=False)


def test_a_host_to_be_rechecked_is_used_again_only_after_it_answered_again(network, capsys):
    found = CorePool(jobs=0, force=False)
    first = found.take()
    assert first is not None
    network.says["a"] = None
    found.recheck(first.host)
    found.give_back(first)
    assert taken(found) == [("b", 0), ("b", 1)]
    network.says["a"] = Answer({}, "the node is dead")
    assert found.take() is None
    network.says["a"] = FINE
    assert taken(found) == [("a", 0), ("a", 1)]
    assert capsys.readouterr().err == ""


def test_hosts_that_come_are_used_and_those_that_go_are_not(network):
    found = CorePool(jobs=0, force=False)
    network.cores, network.says = {"c": 1}, {"c": FINE}
    assert taken(found) == [("c", 0)]


def test_a_head_that_is_gone_ends_the_sweep_and_not_the_process(network):
    found = CorePool(jobs=0, force=False)
    network.head_is_there = False
    with pytest.raises(ClusterLost, match="head:1"):
        found.take()
