"""Agents that die, hang or fall behind: the run ends as one process would with τ_i = 0 there."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from cluster.engines import absences, in_one_process, longer, on_ray, resume_on_ray, toy
from fmarl.cluster.faults.plan import Fault
from fmarl.engine.run import begin
from fmarl.errors import EngineFailed
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]

CONSENSUS = longer(toy(method="consensus", graph="ring", consensus_rounds=2), periods=5)
PERIODIC = longer(toy(), periods=5)


def test_a_killed_agent_equals_one_that_is_absent(tmp_path):
    """F01, F03: SIGKILL at the first slot, in the middle, and within an exchange."""
    faults = (
        Fault("kill", period=1, agent=0, slot=0),
        Fault("kill", period=2, agent=1, slot=2),
        Fault("kill", period=3, agent=2, slot=3, exchange=1),
    )
    struck = on_ray(tmp_path / "ray", CONSENSUS, *faults)
    assert absences(struck.events) == {1: {0}, 2: {1}, 3: {2}}
    assert struck.codes.count("AGENT_LOST") == struck.codes.count("AGENT_REPLACED") == 3
    oracle = in_one_process(tmp_path / "alone", CONSENSUS, {1: {0}, 2: {1}, 3: {2}})
    assert struck.digest == oracle.digest


def test_two_agents_that_die_in_one_period_are_both_absent(tmp_path):
    experiment = longer(toy(agents=4), periods=3)
    faults = (
        Fault("kill", period=1, agent=0, slot=1),
        Fault("abort", period=1, agent=3, slot=2, attempt=1),
    )
    struck = on_ray(tmp_path / "ray", experiment, *faults)
    assert absences(struck.events) == {1: {0, 3}}
    assert struck.digest == in_one_process(tmp_path / "alone", experiment, {1: {0, 3}}).digest


def test_an_agent_killed_after_its_upload_misses_nothing(tmp_path):
    """F02: it was counted once, and is back before the next period."""
    struck = on_ray(tmp_path / "ray", PERIODIC, Fault("kill-after-upload", period=1, agent=1))
    assert struck.codes == ["AGENT_REVIVED"]
    assert struck.digest == in_one_process(tmp_path / "alone", PERIODIC).digest


def test_a_stopped_agent_costs_one_deadline_and_is_replaced(tmp_path):
    """F34: SIGSTOP; the others go on without it for three periods, and until a new one is up."""
    experiment = longer(toy(), periods=10)
    fault = Fault("stop", period=1, agent=2, slot=1)
    struck = on_ray(tmp_path / "ray", experiment, fault, deadline_seconds=15.0)
    absent = absences(struck.events)
    assert list(absent) == list(range(1, 1 + len(absent))) and 3 <= len(absent) < 9
    assert all(agents == {2} for agents in absent.values())
    assert struck.codes.count("AGENT_LATE") == struck.codes.count("AGENT_REPLACED") == 1
    assert struck.digest == in_one_process(tmp_path / "alone", experiment, absent).digest


def test_a_straggler_that_comes_back_is_too_late_and_takes_part_again(tmp_path):
    """F07, F11, F34: it is stopped as it uploads, and goes on when the period is over."""
    experiment = longer(toy(), periods=6)
    folder = begin(experiment, tmp_path / "ray")

    def continue_when_absent(line: dict[str, Any]) -> None:
        if absences(_events(folder)):
            _continue(_pids(folder, {2}))

    fault = Fault("stop-before-upload", period=1, agent=2)
    struck = resume_on_ray(folder, fault, listen=continue_when_absent, deadline_seconds=15.0)
    assert "STALE" in struck.codes and "AGENT_RETURNED" in struck.codes
    oracle = in_one_process(tmp_path / "alone", experiment, absences(struck.events))
    assert struck.digest == oracle.digest


def test_a_loss_does_not_disturb_what_is_printed_as_json(tmp_path):
    """Ray itself would say on standard output that a process is gone."""
    plan, folder = tmp_path / "faults.toml", begin(PERIODIC, tmp_path / "ray")
    plan.write_text('[[faults]]\ndo = "kill"\nagent = 1\nperiod = 1\nslot = 2\n')
    words = ["resume", str(folder), "--engine", "ray", "--json", "--faults", str(plan)]
    command = [sys.executable, "-m", "fmarl", *words]
    ended = subprocess.run(command, capture_output=True, check=True, text=True)
    assert "AGENT_LOST" in [event["code"] for event in _events(folder)]
    assert json.loads(ended.stdout)["finished"]
    assert ended.stderr == ""


def test_a_run_below_quorum_waits_for_those_who_are_late(tmp_path):
    """F08: two of three are stopped, and go on before the run is given up; nothing is lost."""
    stopped = [Fault("stop", period=1, agent=agent, slot=1) for agent in (0, 2)]
    folder = begin(PERIODIC, tmp_path / "ray")
    with _continued_once_stopped(folder, {0, 2}, seconds=20.0):
        struck = resume_on_ray(folder, *stopped, deadline_seconds=5.0, max_retries=20)
    assert "PERIOD_ABANDONED" in struck.codes
    oracle = in_one_process(tmp_path / "alone", PERIODIC, absences(struck.events))
    assert struck.digest == oracle.digest


def test_below_quorum_nothing_is_learned_and_the_run_stops(tmp_path):
    """F08: it names who is missing, keeps what it had, and can go on from there."""
    killed = [Fault("kill", period=2, agent=agent, slot=1, attempt=None) for agent in (0, 2)]
    folder = begin(PERIODIC, tmp_path / "ray")
    with pytest.raises(EngineFailed, match=r"1 of 3 agents.*away: 0 \(AGENT_LOST\), 2"):
        resume_on_ray(folder, *killed, max_retries=1)
    codes = [event["code"] for event in _events(folder)]
    assert codes.count("PERIOD_ABANDONED") == 1 and codes[-2:] == ["QUORUM_LOST", "FAILED"]
    ended = resume_on_ray(folder)
    assert ended.digest == in_one_process(tmp_path / "alone", PERIODIC).digest


def _events(folder: Path) -> list[dict[str, Any]]:
    return read_lines(RunFolder(folder).events).records


def _pids(folder: Path, agents: set[int]) -> list[int]:
    """The first processes of some agents; none before all have started."""
    started = [event for event in _events(folder) if set(event.get("agents", ())) & agents]
    found = [event["pid"] for event in started if event["code"] == "ACTOR_STARTED"]
    return found[: len(agents)] if len(found) >= len(agents) else []


def _continue(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _are_stopped(pids: list[int]) -> bool:
    states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids]
    return bool(states) and set(states) == {"T"}


@contextmanager
def _continued_once_stopped(folder: Path, agents: set[int], seconds: float) -> Iterator[None]:
    """Send SIGCONT to some agents' processes, so long after all of them were stopped."""

    def watch() -> None:
        while not over.wait(0.05):
            if _are_stopped(_pids(folder, agents)):
                over.wait(seconds)
                _continue(_pids(folder, agents))
                return

    over, watching = threading.Event(), threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()
