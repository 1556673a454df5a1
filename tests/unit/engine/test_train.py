"""A run from its beginning to its end: what it leaves on disk, and what can go wrong with that."""

import json
import math
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.engine import run_writer as writer
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.engine.run import begin, resume, train
from fmarl.engine.train import Diverged
from fmarl.errors import BadInput
from fmarl.federation.method_file import read_method
from fmarl.federation.method_theory import expected_overheads, plan_of
from fmarl.federation.recipes import METHODS, MethodConfig, make_from_config
from fmarl.records.checkpoint import NoGoodCheckpoint
from fmarl.records.jsonl import read_lines
from fmarl.records.run_description import installed_versions
from fmarl.records.run_folder import read_run
from fmarl.records.strict_json import unseal
from fmarl.settings_io import from_plain
from fmarl.theory import overheads
from unit.engine.small_experiments import toy


def _lines(run_folder: Path, kind: str | None = None) -> list[dict]:
    records = read_lines(run_folder / "metrics.jsonl").records
    return [record for record in records if kind in (None, record["kind"])]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nobody disturbed."""
    return train(toy(), tmp_path_factory.mktemp("runs") / "whole")


def test_a_run_writes_an_epoch_line_per_epoch_and_tests_when_they_are_due(whole):
    assert whole.finished
    assert [line["epoch"] for line in _lines(whole.folder, "epoch")] == [1, 2, 3, 4, 5]
    assert [line["epoch"] for line in _lines(whole.folder, "test")] == [0, 2, 4, 5]
    last = _lines(whole.folder, "epoch")[-1]
    assert last["update_count"] == 10
    assert math.isfinite(last["train_reward"])


def test_the_same_experiment_ends_with_the_same_bits_and_another_seed_with_others(whole, tmp_path):
    again = train(toy(), tmp_path / "again")
    other = train(toy(seed=1), tmp_path / "other")
    assert again.digest == whole.digest != other.digest
    metrics = [(one.folder / "metrics.jsonl").read_bytes() for one in (again, whole)]
    assert metrics[0] == metrics[1]


def test_run_json_repeats_the_experiment(whole):
    description = read_run(whole.folder)
    assert description["experiment"] == describe_experiment(toy())
    assert from_plain(Experiment, description["experiment"]) == toy()
    assert "tac" not in description["experiment"]  # its defaults may change, and it is not used
    assert description["seeds"] == {"run": 0}
    assert {"jax", "numpy", "libsumo"} <= set(description["versions"])


@pytest.mark.parametrize("word", METHODS)
def test_every_method_trains_and_is_billed_what_the_closed_form_says(word, tmp_path):
    period: dict[str, Any] = {"sync_period": 5} if "sync_period" in METHODS[word].uses else {}
    together = MethodConfig(method=word, learning_rate=1e-2, **period)
    run = train(toy(together=together, test_every=0), tmp_path / "run")
    last = _lines(run.folder, "epoch")[-1]
    if word in ("delayed", "delayed-adoption", "independent"):
        assert last["uploads"] == (0 if word == "independent" else 30)
        return
    closed = overheads(plan_of(make_from_config(together, 3, 2, 0), 10))
    for name in ("uploads", "updates", "exchanges", "mixings"):
        assert last[name] == getattr(closed, name)
    message = 4 * (25 + 25 + 1)  # actor and critic of 1·8 + 8 + 8·1 + 1 numbers, one log-std
    assert last["bytes_sent"] == (2 * closed.uploads + closed.exchanges) * message


def test_gradient_norms_are_measured_on_another_run_s_samples(whole, tmp_path):
    measured = train(toy(samples=str(whole.folder)), tmp_path / "measured")
    assert measured.digest == whole.digest  # measuring changes nothing
    norms = [line.get("expected_gradient_norm") for line in _lines(measured.folder, "epoch")]
    assert any(norm is not None and norm > 0 for norm in norms)
    assert "expected_gradient_norm" not in _lines(whole.folder, "epoch")[0]


def test_samples_of_another_world_are_refused(whole, tmp_path):
    wider = toy(samples=str(whole.folder), set=("num_agents=4", "epoch_steps=40"))
    with pytest.raises(BadInput, match="samples of 3 agents"):
        train(wider, tmp_path / "wider")


def test_several_worlds_are_agents_side_by_side(tmp_path):
    run = train(toy(num_worlds=2), tmp_path / "two")
    assert _lines(run.folder, "epoch")[-1]["updates"] == 2 * 3 * 10


def test_annealing_ends_in_smaller_steps(whole, tmp_path):
    annealed = train(toy(anneal=True), tmp_path / "annealed")
    assert annealed.digest != whole.digest


def test_a_step_that_is_not_finite_is_written_down_and_too_many_end_the_run(tmp_path):
    wild = toy(
        together=MethodConfig(method="independent", learning_rate=1e38),
        agent=AgentConfig(hidden=(8,), optimiser="sgd"),
        max_bad_updates=2,
        test_every=0,
    )
    with pytest.raises(Diverged, match=r"learning_rate = 1e\+38 may be too large"):
        train(wild, tmp_path / "wild")
    codes = [event["code"] for event in read_lines(tmp_path / "wild" / "events.jsonl").records]
    assert codes.count("NONFINITE") >= 3
    saved = _rows(tmp_path / "wild")
    assert np.isfinite(saved).all()


def _rows(folder: Path) -> np.ndarray:
    newest = sorted((folder / "checkpoints").glob("*.safetensors"))[-1]
    return load_file(newest)["state.parameters"]


def test_a_damaged_checkpoint_falls_back_to_the_one_before(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", 0.0)
    run = train(toy(), tmp_path / "run")
    newest = sorted((run.folder / "checkpoints").glob("*.safetensors"))[-1]
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    again = resume(run.folder)
    assert again.digest == whole.digest
    events = read_lines(run.folder / "events.jsonl").records
    assert {"CKPT_CORRUPT", "RESUMED"} <= {event["code"] for event in events}
    assert (run.folder / "metrics.jsonl").read_bytes() == (
        whole.folder / "metrics.jsonl"
    ).read_bytes()


def test_a_run_whose_checkpoints_are_all_damaged_is_left_alone(tmp_path):
    run = train(toy(), tmp_path / "run")
    for file in (run.folder / "checkpoints").glob("*.safetensors"):
        file.write_bytes(b"")
    before = (run.folder / "metrics.jsonl").read_bytes()
    with pytest.raises(NoGoodCheckpoint):
        resume(run.folder)
    assert (run.folder / "metrics.jsonl").read_bytes() == before


def test_an_edited_experiment_is_not_resumed(tmp_path):
    folder = begin(toy(), tmp_path / "run")
    description = json.loads((folder / "run.json").read_text())
    description["experiment"]["seed"] = 7
    (folder / "run.json").write_text(json.dumps(description))
    with pytest.raises(BadInput):
        resume(folder)


def test_a_run_made_with_other_versions_is_only_resumed_by_force(tmp_path, monkeypatch):
    folder = begin(toy(), tmp_path / "run")
    now = installed_versions()
    monkeypatch.setattr("fmarl.engine.run.installed_versions", lambda: {**now, "libsumo": "0.1"})
    with pytest.raises(BadInput, match=r"libsumo 1\.28\.0, and here is 0\.1"):
        resume(folder)
    assert resume(folder, force=True).finished


def test_a_finished_run_resumes_to_itself(whole):
    before = (whole.folder / "metrics.jsonl").read_bytes()
    again = resume(whole.folder)
    assert again.digest == whole.digest
    assert (whole.folder / "metrics.jsonl").read_bytes() == before


def test_a_slot_must_divide_an_epoch(tmp_path):
    with pytest.raises(BadInput, match="Use 20"):
        train(toy(steps_per_update=19), tmp_path / "run")


def test_an_experiment_needs_no_more_than_a_world():
    assert Experiment(world="merge").together.method == "periodic"


@pytest.mark.parametrize("word", ["figure-eight", "merge"])
def test_on_a_road_the_same_epochs_driven_by_sumo_are_the_baseline(word, tmp_path):
    options = ("epoch_steps=60", "warm_up_steps=200") if word == "merge" else ("epoch_steps=60",)
    road = Experiment(
        world=word,
        set=options,
        num_epochs=1,
        steps_per_update=60,
        test_every=1,
        test_repetitions=2,
        sample_slots=0,
    )
    with_baseline = train(road, tmp_path / "with")
    [line] = _lines(with_baseline.folder, "baseline")
    alone = replace(road, set=(*options, "controlled=false"), baseline=False)
    without = train(alone, tmp_path / "without")
    assert line["rewards"] == _lines(without.folder, "test")[0]["rewards"]
    assert not _lines(without.folder, "baseline")


def test_who_did_what_is_written_down_for_each_agent(whole):
    for line in _lines(whole.folder, "epoch"):
        assert {name: sum(line["ledger"][name]) for name in line["ledger"]} == {
            name: line[name] for name in line["ledger"]
        }


def test_a_run_leaves_its_method_for_whoever_looks_at_it(whole):
    facts = unseal((whole.folder / "method.json").read_bytes())
    recorded = read_method(facts)
    expected = expected_overheads(recorded, 10)
    assert expected is not None
    assert (recorded.num_agents, facts["total_updates"]) == (3, 10)
    totals = _lines(whole.folder, "epoch")[-1]
    assert expected._asdict() == {name: totals[name] for name in expected._fields}


def test_a_run_stopped_before_its_first_slot_ends_with_the_same_metrics(whole, tmp_path):
    def stop_at_the_first_test(line: dict[str, Any]) -> None:
        if line["kind"] == "test":
            signal.raise_signal(signal.SIGTERM)  # a shell's background job is deaf to SIGINT

    stopped = train(toy(), tmp_path / "run", listen=stop_at_the_first_test)
    assert (stopped.update_count, stopped.exit_code) == (0, 143)
    resume(stopped.folder)
    assert _lines(stopped.folder) == _lines(whole.folder)


@pytest.mark.parametrize(
    ("together", "line"),
    [
        ({"method": "consensus", "weights": "fdla", "consensus_step": 0.3}, "consensus_step = 0.3"),
        ({"step_seconds": "1,1,2", "local_updates": "1-3"}, "local_updates = 1-3"),
        ({"method": "decay", "decay_weights": "1,1,1", "decay_rate": 0.5}, "decay_rate = 0.5"),
    ],
)
def test_a_word_that_another_leaves_without_effect_is_refused(tmp_path, together, line):
    with pytest.raises(BadInput, match=f"{line} is not used"):
        begin(toy(together=MethodConfig(sync_period=3, **together)), tmp_path / "run")
    assert not (tmp_path / "run").exists()
