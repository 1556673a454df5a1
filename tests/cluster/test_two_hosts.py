"""One run over two hosts: the bits of one process, whatever becomes of the second host."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fmarl
from cluster.changed_sources import changed_copy
from cluster.engines import absences, in_one_process, longer, toy
from cluster.namespaces import Host, Hosts
from cluster.sweeps import codes, kill, read_lines_of, wait_until
from fmarl.engine.run import begin, read_experiment, resume
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

pytest.importorskip("ray")
pytestmark = pytest.mark.cluster

COMMAND = (sys.executable, "-m", "fmarl")
NORMAL_PRIORITY = {"worker_niceness": 0}
"""Ray gives its workers the lowest claim to a core: on a busy machine they would hardly start."""
FIGURE_EIGHT = (
    "figure-eight --method consensus --graph ring --sync-period 3 --num-epochs 3 --no-baseline "
    "--test-every 3 --test-repetitions 1"
)
ACTORS = 9
"""Of Figure Eight: its seven agents, its world and the virtual agent."""
TOY = replace(
    longer(toy(agents=4, method="consensus", graph="ring"), periods=20),
    test_every=2,  # a period, so that there is a line to wait for
)
TOY_ACTORS = 6
LONG = replace(longer(toy(agents=4, learning_rate=1e-4), periods=300), test_every=10)
"""Not over before it is noticed that somebody is gone."""
OTHER_VERSION = "9.9.9"
SHORT_DEADLINE = ("--deadline", "10")


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Host]]:
    """A head and a second host that has no Ray node yet; both find what was compiled before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    with Hosts(2) as made:
        made[0].start_ray(settings=NORMAL_PRIORITY)
        yield made


def test_figure_eight_ends_with_the_bits_of_one_process(hosts: list[Host], tmp_path: Path):
    head, second = hosts
    second.start_ray(head=head, settings=NORMAL_PRIORITY)
    folder = tmp_path / "run"

    run = _start(head, "train", *FIGURE_EIGHT.split(), "--out", str(folder))
    read_lines_of(run, folder.name)
    wait_until(lambda: len(_started(folder)) == ACTORS, "all actors have started")
    assert _actors_on(head, folder) and _actors_on(second, folder)
    _, complaint = run.communicate()

    assert (run.returncode, complaint) == (0, "")
    assert codes(folder).count("ACTOR_STARTED") == len(codes(folder)) == ACTORS
    alone = in_one_process(tmp_path / "alone", read_experiment(folder))
    assert resume(folder).digest == alone.digest


def test_agents_of_a_host_that_is_cut_off_are_absent_until_they_answer(
    hosts: list[Host], tmp_path: Path
):
    """F07: longer than the deadline; Ray itself would have taken a minute to notice."""
    head, second = hosts
    second.start_ray(head=head, settings=NORMAL_PRIORITY)
    folder = begin(TOY, tmp_path / "run")
    run = _start(head, "resume", str(folder), *SHORT_DEADLINE)
    read_lines_of(run, *[folder.name] * 3)
    gone = _agents(_actors_on(second, folder))

    second.cut()
    wait_until(lambda: "PERIOD_WITHOUT" in codes(folder), "a period counts without the second host")
    second.heal()

    _assert_ended_without(gone, run, folder, tmp_path / "alone")
    assert "AGENT_LATE" in codes(folder)


def test_agents_of_a_host_that_dies_go_on_at_the_other(hosts: list[Host], tmp_path: Path):
    """All that runs there is killed at once, as by a power cut."""
    head, second = hosts
    second.start_ray(head=head, settings=NORMAL_PRIORITY)
    folder = begin(TOY, tmp_path / "run")
    run = _start(head, "resume", str(folder), *SHORT_DEADLINE)
    read_lines_of(run, *[folder.name] * 3)
    gone = _agents(_actors_on(second, folder))

    kill(second.processes())

    _assert_ended_without(gone, run, folder, tmp_path / "alone")
    assert _agents(_started(folder)[TOY_ACTORS:]) == gone


def test_a_run_whose_cluster_lost_its_head_stops_in_one_line_and_goes_on_here(tmp_path: Path):
    """Ray itself would end the command after a minute, as if it had failed."""
    with Hosts(2) as [head, second]:
        head.start_ray(cores=0)
        second.start_ray(head=head, settings=NORMAL_PRIORITY)
        folder = begin(LONG, tmp_path / "run")
        words = ["resume", str(folder), "--engine", "ray", "--address", head.ray_address]
        run = second.run([*COMMAND, *words])
        read_lines_of(run, folder.name)
        assert _actors_on(head, folder) == []  # it has no cores

        head.kill_head()

        _, complaint = run.communicate()
    assert run.returncode == 3, complaint
    assert complaint.count("\n") == 1
    assert "its head at" in complaint
    assert resume(folder).digest == in_one_process(tmp_path / "alone", LONG).digest


def test_a_host_with_other_code_is_refused_in_one_line_with_both_values(
    hosts: list[Host], tmp_path: Path
):
    """F39."""
    head, second = hosts
    version = f'"{fmarl.__version__}"'
    other = changed_copy(tmp_path / "other", "__init__.py", version, f'"{OTHER_VERSION}"')
    second.start_ray(head=head, settings=NORMAL_PRIORITY, code=other)
    folder = begin(TOY, tmp_path / "run")

    run = _start(head, "resume", str(folder))
    _, complaint = run.communicate()

    assert run.returncode == 2
    assert complaint.count("\n") == 1
    assert f"is {OTHER_VERSION} on " in complaint
    assert f"and {fmarl.__version__} where the run is conducted" in complaint


def _start(host: Host, *words: str) -> subprocess.Popen[str]:
    """Fmarl in a host, over all hosts of its cluster."""
    return host.run([*COMMAND, *words, "--engine", "ray", "--address", host.ray_address])


def _started(folder: Path) -> list[dict[str, Any]]:
    """What has been said of each actor that started, in order."""
    events = read_lines(RunFolder(folder).events).records
    return [event for event in events if event["code"] == "ACTOR_STARTED"]


def _actors_on(host: Host, folder: Path) -> list[dict[str, Any]]:
    """Those of the actors whose processes run in a host."""
    there = set(host.processes())
    return [event for event in _started(folder) if event["pid"] in there]


def _agents(actors: list[dict[str, Any]]) -> set[int]:
    return {agent for actor in actors for agent in actor.get("agents", [])}


def _assert_ended_without(
    gone: set[int], run: subprocess.Popen[str], folder: Path, alone: Path
) -> None:
    """The run ended as one process does in which just these agents are absent where it says so."""
    said, complaint = run.communicate()
    assert (run.returncode, complaint) == (0, ""), said
    absent = absences(read_lines(RunFolder(folder).events).records)
    # Who had uploaded when its host went misses nothing.
    assert gone and set().union(*absent.values()) <= gone
    assert resume(folder).digest == in_one_process(alone, TOY, absent).digest
