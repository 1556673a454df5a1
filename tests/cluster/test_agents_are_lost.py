"""Agents that die, hang or fall behind: the run ends as one process would with τ_i = 0 there."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.engines import absences, go_on_on_ray, in_one_process, longer, on_ray, toy
from fmarl.cluster.faults.plan import Fault
from fmarl.engine.engine import EngineFailed
from fmarl.engine.train import begin
from fmarl.records.jsonl import read_lines
from fmarl.records.run_folder import RunFolder

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]

CONSENSUS = longer(toy(method="consensus", graph="ring", consensus_rounds=2), periods=5)
PERIODIC = longer(toy(), periods=5)


def test_a_killed_agent_equals_one_that_is_away(tmp_path):
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


def test_two_agents_that_die_in_one_period_are_both_away(tmp_path):
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
    """F34: SIGSTOP; the others go on without it until patience has run out."""
    fault = Fault("stop", period=1, agent=2, slot=1)
    struck = on_ray(tmp_path / "ray", longer(toy(), periods=6), fault, deadline_seconds=15.0)
    away = absences(struck.events)
    assert away == {1: {2}, 2: {2}, 3: {2}}
    assert struck.codes.count("AGENT_LATE") == struck.codes.count("AGENT_REPLACED") == 1
    oracle = in_one_process(tmp_path / "alone", longer(toy(), periods=6), away)
    assert struck.digest == oracle.digest


def test_a_straggler_that_comes_back_is_too_late_and_takes_part_again(tmp_path):
    """F07, F11, F34: it is stopped as it uploads, and goes on when the period is over."""
    experiment = longer(toy(), periods=6)
    folder = begin(experiment, tmp_path / "ray")
    with _continued_when(folder, {2}, lambda events: "PERIOD_WITHOUT" in str(events)):
        struck = go_on_on_ray(
            folder, Fault("stop-before-upload", period=1, agent=2), deadline_seconds=15.0
        )
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
    codes = [event["code"] for event in read_lines(RunFolder(folder).events).records]
    assert "AGENT_LOST" in codes
    assert json.loads(ended.stdout)["finished"]
    assert ended.stderr == ""


def test_a_run_below_quorum_waits_for_those_who_are_late(tmp_path):
    """F08: two of three are stopped, and go on before the run is given up; nothing is lost."""
    stopped = [Fault("stop", period=1, agent=agent, slot=1) for agent in (0, 2)]
    folder = begin(PERIODIC, tmp_path / "ray")
    with _continued_when(folder, {0, 2}, _is_old(seconds=20.0)):
        struck = go_on_on_ray(folder, *stopped, deadline_seconds=5.0, max_retries=20)
    oracle = in_one_process(tmp_path / "alone", PERIODIC, absences(struck.events))
    assert struck.digest == oracle.digest


def test_below_quorum_nothing_is_learned_and_the_run_stops(tmp_path):
    """F08: it names who is missing, keeps what it had, and can go on from there."""
    killed = [Fault("kill", period=2, agent=agent, slot=1, attempt=None) for agent in (0, 2)]
    folder = begin(PERIODIC, tmp_path / "ray")
    with pytest.raises(EngineFailed, match=r"1 of 3 agents.*away: 0 \(AGENT_LOST\), 2"):
        go_on_on_ray(folder, *killed, max_retries=1)
    codes = [event["code"] for event in read_lines(RunFolder(folder).events).records]
    assert codes.count("PERIOD_ABANDONED") == 1 and codes[-1] == "QUORUM_LOST"
    ended = go_on_on_ray(folder)
    assert ended.digest == in_one_process(tmp_path / "alone", PERIODIC).digest


def _is_old(seconds: float) -> Callable[[list[dict[str, Any]]], bool]:
    """Whether a run wrote its first event so long ago."""

    def is_old(events: list[dict[str, Any]]) -> bool:
        begun = datetime.fromisoformat(events[0]["time"])
        return datetime.now(UTC) - begun > timedelta(seconds=seconds)

    return is_old


@contextmanager
def _continued_when(
    folder: Path, agents: set[int], is_time: Callable[[list[dict[str, Any]]], bool]
) -> Iterator[None]:
    """Send SIGCONT to some agents' first processes, when what the run has written says so."""

    def look() -> None:
        while not over.wait(0.05):
            events = read_lines(RunFolder(folder).events).records
            if events and is_time(events):
                started = [event for event in events if set(event.get("agents", ())) & agents]
                for event in started[: len(agents)]:
                    os.kill(event["pid"], signal.SIGCONT)
                return

    over, looking = threading.Event(), threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
