"""Measured norms against the corrected bound: along a run, and at its end."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.ppo import PPOConfig
from fmarl.engine.estimate_constants import Constants, estimate_constants
from fmarl.engine.experiment import Experiment
from fmarl.engine.run import begin
from fmarl.errors import BadInput
from fmarl.federation.method_theory import plan_of
from fmarl.federation.run_labels import PLAIN_DESCENT
from fmarl.records.run_folder import RunFolder
from fmarl.records.strict_json import seal
from fmarl.report.bound_curve import (
    BoundCurve,
    bound_at_end,
    bound_curve,
    bound_of,
    norm_curve,
    read_constants,
    why_no_bound,
)
from fmarl.report.run_reader import RecordedRun, read_recorded_run
from fmarl.report.run_scores import utility_row
from unit.report.small_runs import EPOCHS, SLOTS, plain, road, write_run

CONSTANTS = Constants(
    smoothness=2.0,
    gradient_noise=0.5,
    noise_correlation=0.25,
    initial_gap=0.125,
    initial_gradient_norm=8.0,
    final_gradient_norm=1.0,
)


def _run(folder: Path, experiment: Experiment, norms: list[float] | None = None) -> RecordedRun:
    count = EPOCHS * SLOTS // experiment.together.sync_period
    falling = np.geomspace(8.0, 1.0, count + 1).tolist() if norms is None else norms
    rewards = [0.1] * (EPOCHS + 1)
    return read_recorded_run(write_run(folder, experiment, rewards, norms=falling), "it")


@pytest.mark.parametrize(
    "experiment",
    [
        plain("synchronous"),
        plain("periodic", sync_period=5),
        plain("decay", sync_period=15, local_updates="1-15"),
        plain("consensus", sync_period=3),
    ],
    ids=lambda one: one.together.method,
)
def test_the_end_of_the_curve_is_the_bound_at_the_end(tmp_path, experiment):
    # A synchronous method has a period of 1 whatever its settings say.
    period = 1 if experiment.together.method == "synchronous" else experiment.together.sync_period
    norms = np.geomspace(8.0, 1.0, EPOCHS * SLOTS // period + 1).tolist()
    run = _run(tmp_path / "run", experiment, norms)
    found = bound_of(run, CONSTANTS._asdict())
    worth = utility_row(run.lines)
    assert isinstance(found, BoundCurve) and worth and run.method
    plan = plan_of(run.method, run.total_updates)
    checked = bound_at_end(CONSTANTS._asdict(), plan, worth.gradient_norm)
    assert found.updates[-1] == EPOCHS * SLOTS - period
    assert found.means[-1] == pytest.approx(checked.gradient_norm)
    assert found.values[-1] == pytest.approx(checked.corrected)
    assert found.is_proved == checked.is_proved


def test_the_running_mean_weighs_every_average_the_same(tmp_path):
    run = _run(tmp_path / "run", plain("periodic", sync_period=3), [9.0, 5.0, 1.0, 3.0, 3.0])
    curve = norm_curve(run.lines, sync_period=3)
    assert curve is not None
    assert curve.updates.tolist() == [0, 6, 12]  # two averages per epoch, until norms run out
    assert curve.norms.tolist() == [9, 3, 3]
    np.testing.assert_allclose(curve.means, [9, 15 / 3, 21 / 5])


def test_a_mean_above_the_bound_is_said_to_be_above(tmp_path):
    run = _run(tmp_path / "run", plain("periodic", sync_period=5))
    tight = CONSTANTS._replace(initial_gap=0.0, gradient_noise=1e-6)
    assert run.method is not None
    curve = norm_curve(run.lines, 5)
    assert curve is not None
    plan = plan_of(run.method, run.total_updates)
    found = bound_curve(tight._asdict(), plan, curve)
    assert not found.holds and "goes above" in found.text
    loose = bound_curve(CONSTANTS._replace(initial_gap=1e3)._asdict(), plan, curve)
    assert loose.holds and "stays below" in loose.text


def test_a_rate_beyond_the_proof_is_said_to_be(tmp_path):
    run = _run(tmp_path / "run", plain("periodic", sync_period=5, learning_rate=0.9))
    found = bound_of(run, CONSTANTS._asdict())
    assert isinstance(found, BoundCurve)
    assert not found.is_proved and "nothing is proved here" in found.text


def test_a_period_that_does_not_divide_the_run_has_a_bound_for_its_whole_periods(tmp_path):
    run = _run(tmp_path / "run", plain("periodic", sync_period=7))
    found = bound_of(run, CONSTANTS._asdict())
    assert isinstance(found, BoundCurve)
    assert found.updates.tolist() == [0, 7, 14, 21]


@pytest.mark.parametrize(
    ("experiment", "words"),
    [
        (road(num_epochs=EPOCHS), "here optimiser = adam, ppo.passes = 4"),
        (replace(plain(), samples=""), "--samples"),
        (replace(plain(), sample_slots=0), "sample_slots = 0"),
        (plain("independent", sync_period=5), "not all are averaged"),
        (plain("delayed"), "neither delays"),
        (replace(plain(sync_period=5), num_epochs=EPOCHS + 1), "when a run has ended"),
        (plain(sync_period=5), "have not been estimated yet"),
    ],
)
def test_where_there_is_no_bound_it_is_said_why(tmp_path, experiment, words):
    found = bound_of(_run(tmp_path / "run", experiment))
    assert isinstance(found, str) and words in found


def test_a_norm_that_is_missing_leaves_no_bound(tmp_path):
    run = _run(tmp_path / "run", plain("periodic", sync_period=5))
    lines = [
        {**line, "gradient_norms_measured": 2} if line.get("gradient_norms_measured") else line
        for line in run.lines
    ]
    found = bound_of(replace(run, lines=lines), CONSTANTS._asdict())
    assert isinstance(found, str) and "missing" in found


@pytest.mark.parametrize(
    "other",
    [
        {"algorithm": "trpo"},
        {"agent": AgentConfig(optimiser="adam")},
        {"agent": AgentConfig(optimiser="sgd", max_gradient_norm=0.5)},
        {"ppo": PPOConfig(passes=2)},
        {"ppo": PPOConfig(passes=1, minibatches=5)},
        {"ppo": PPOConfig(passes=1, normalise_observations=True)},
        {"anneal": True},
    ],
)
def test_what_the_theory_does_not_speak_of_has_no_constants_either(tmp_path, other):
    changes = {**({"ppo": PPOConfig()} if "algorithm" in other else {}), **other}
    experiment = replace(plain(), **changes)
    run = _run(tmp_path / "run", experiment)
    found = why_no_bound(run)
    [name] = [name for name in PLAIN_DESCENT if f"{name} = " in found]
    with pytest.raises(BadInput, match=f"^{name} = "):
        estimate_constants(begin(experiment, tmp_path / "real"))


def test_constants_that_no_loss_can_have_are_said_to_be_of_no_use(tmp_path):
    run = _run(tmp_path / "run", plain("periodic", sync_period=5))
    found = bound_of(run, CONSTANTS._replace(smoothness=0.0)._asdict())
    assert isinstance(found, str) and "can not be used: smoothness = 0" in found


def test_constants_are_read_back_as_they_were_kept(tmp_path):
    run = _run(tmp_path / "run", plain("periodic", sync_period=5))
    assert read_constants(run) is None
    path = RunFolder(run.folder).constants
    path.write_bytes(seal(CONSTANTS._asdict()))
    assert read_constants(run) == CONSTANTS._asdict()
    assert isinstance(bound_of(run), BoundCurve)
    path.write_bytes(path.read_bytes().replace(b"8.0", b"9.0"))
    assert read_constants(run) is None
    path.write_bytes(seal({"smoothness": 1.0}))
    assert read_constants(run) is None


def test_a_run_that_measured_nothing_has_no_curve():
    assert norm_curve([{"kind": "start", "update_count": 0}]) is None
