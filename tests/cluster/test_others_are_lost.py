"""Worlds, the virtual agent and the driver that die: nothing changes, not a bit."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.engines import in_one_process, longer, on_ray, resume_on_ray, toy
from fmarl.cluster.faults.plan import Fault
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin, resume
from fmarl.errors import BadInput
from fmarl.federation.recipes import MethodConfig

EXPERIMENT = longer(toy(method="consensus", graph="ring"), periods=6)

pytestmark = [pytest.mark.cluster]


@pytest.mark.usefixtures("cluster")
def test_a_virtual_agent_that_dies_is_replaced_and_nothing_changes(tmp_path):
    """F04: before it has taken anything, in the middle, and before it has answered."""
    points = ("before-collect", "mid-collect", "after-aggregate")
    faults = [Fault("kill", period=at, virtual=True, point=p) for at, p in enumerate(points, 1)]
    struck = on_ray(tmp_path / "ray", EXPERIMENT, *faults)
    assert struck.codes == ["VIRTUAL_LOST"] * 3
    assert struck.digest == in_one_process(tmp_path / "alone", EXPERIMENT).digest


@pytest.mark.usefixtures("cluster")
def test_uploads_sent_again_while_the_first_call_still_runs_count_once(tmp_path):
    """F12: the virtual agent is stopped with some of the uploads in its hands."""
    fault = Fault("stop", period=1, virtual=True, point="mid-collect")
    struck = on_ray(tmp_path / "ray", EXPERIMENT, fault, deadline_seconds=15.0)
    assert struck.codes == ["VIRTUAL_LOST"]
    assert struck.digest == in_one_process(tmp_path / "alone", EXPERIMENT).digest


@pytest.mark.usefixtures("cluster")
def test_a_world_that_dies_is_replaced_and_nothing_changes(tmp_path):
    """F26: killed at the start of a slot, and aborted as a fault in native code would."""
    faults = (
        Fault("kill", period=1, world=0, slot=2),
        Fault("abort", period=3, world=0, slot=0),
    )
    struck = on_ray(tmp_path / "ray", EXPERIMENT, *faults)
    assert struck.codes == ["WORLD_LOST"] * 2
    assert struck.digest == in_one_process(tmp_path / "alone", EXPERIMENT).digest


@pytest.mark.usefixtures("cluster")
def test_a_sumo_that_is_killed_is_started_again_and_nothing_changes(tmp_path):
    """F24: twice within a period of Figure Eight, beneath a world that stays."""
    experiment = Experiment(
        num_epochs=2,
        steps_per_update=50,
        set=("epoch_steps=200",),
        test_every=0,
        sample_slots=0,
        baseline=False,
        together=MethodConfig(sync_period=4),
    )
    faults = [Fault("kill-simulator", period=1, world=0, slot=slot) for slot in (0, 2)]
    struck = on_ray(tmp_path / "ray", experiment, *faults)
    assert struck.codes == ["WORLD_CRASHED", "WORLD_RESTORED"] * 2
    assert struck.digest == in_one_process(tmp_path / "alone", experiment).digest


@pytest.mark.parametrize("point", ["before-collect", "after-aggregate"])
def test_a_driver_that_dies_leaves_nobody_and_its_run_goes_on_to_the_same_bits(tmp_path, point):
    """F04, F05: everything is gone but the run's folder; it goes on here, or on a cluster."""
    plan = tmp_path / "faults.toml"
    plan.write_text(f'[[faults]]\ndo = "kill"\nconductor = true\nperiod = 3\npoint = "{point}"\n')
    folder = begin(EXPERIMENT, tmp_path / "ray")
    words = [sys.executable, "-m", "fmarl", "resume", str(folder), "--engine", "ray", "--quiet"]
    killed = subprocess.run([*words, "--faults", str(plan)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert resume(folder).digest == in_one_process(tmp_path / "alone", EXPERIMENT).digest


@pytest.mark.usefixtures("cluster")
def test_a_run_may_change_its_engine_in_the_middle_of_a_period(tmp_path):
    folder = _stopped_after(tmp_path / "run", slots=6)
    ended = resume_on_ray(folder)
    assert ended.digest == in_one_process(tmp_path / "alone", EXPERIMENT).digest


def _stopped_after(folder: Path, slots: int) -> Path:
    """A run in one process that stopped after so many slots, in the middle of a period."""
    begin(EXPERIMENT, folder)

    def listen(line: dict) -> None:
        if line["update_count"] >= slots:
            signal.raise_signal(signal.SIGTERM)

    stopped = resume(folder, listen=listen)
    assert stopped.update_count == slots
    return folder


@pytest.mark.usefixtures("cluster")
def test_a_host_with_other_code_is_refused_with_both_values(tmp_path, monkeypatch):
    """F39: the driver's code is changed, as if the actors' hosts had another version."""
    monkeypatch.setattr("fmarl.cluster.run_context.PROTOCOL", 0)
    with pytest.raises(BadInput, match=r"protocol is 1 on .* and 0 where the run is conducted"):
        on_ray(tmp_path / "ray", EXPERIMENT)
