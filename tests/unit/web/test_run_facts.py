"""What the page knows of a run beside its course."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from fmarl.engine.run import begin, train
from fmarl.federation.make_method import make_method
from fmarl.federation.method import Method
from fmarl.federation.method_file import completed, describe_method
from fmarl.federation.recipes import MethodConfig, make_from_config
from fmarl.records.run_folder import RunFolder
from fmarl.topology import constant_weights, graph_from_text
from fmarl.web.run_facts import about_run, method_facts, road_facts
from fmarl.worlds.registry import make_world
from unit.engine.small_experiments import toy


def test_before_it_has_begun_a_run_has_settings_and_no_method(tmp_path: Path):
    about = about_run(RunFolder(begin(toy(), tmp_path / "run")), "run")
    assert about["settings"]["num_epochs"] == 5
    assert (about["method"], about["num_agents"], about["road"]) == (None, None, None)


def test_a_run_says_why_it_has_no_bound(tmp_path: Path):
    run = train(toy(together=MethodConfig(method="independent", sync_period=3)), tmp_path / "run")
    about = about_run(RunFolder(run.folder), "run")
    assert "plain SGD" in about["bound"]["text"]
    assert about["method"]["averages"] is False


def test_the_graph_of_a_method_has_the_connectivity_that_the_paper_prints():
    mixing = constant_weights(graph_from_text("paper-13"), 0.1, 1)
    method = make_method(7, sync_period=15, mixing=mixing)
    facts = _facts(method)
    assert facts["algebraic_connectivity"] == pytest.approx(1.4384, abs=1e-4)
    assert facts["contraction"] == pytest.approx(1 - 0.1 * 1.4384, abs=1e-4)
    assert len(facts["links"]) == 13


def test_the_page_knows_edges_rules_and_liars():
    config = MethodConfig(hierarchy=2, attack="noise:1:0.5")
    method = make_from_config(config, 4, periods=1, seed=0, num_worlds=2)
    facts = _facts(method)
    assert facts["averages"] is True
    assert (facts["edge_agents"], facts["attackers"]) == ([0, 0, 1, 1], [3])
    assert (facts["aggregate"], facts["attack_noise"]) == ("mean", 0.5)


@pytest.mark.parametrize("word", ["figure-eight", "merge"])
def test_vehicles_stand_on_the_lanes_that_the_page_draws(word: str):
    road = road_facts({"world": word, "set": []})
    assert road is not None
    points = np.concatenate([_filled(np.array(lane)) for lane in road["lanes"]])
    options = {"warm_up_steps": 300} if word == "merge" else {}
    with make_world(word, **options) as world:
        world.reset(0)
        frame = world.frame()
    assert frame is not None
    present = frame[~np.isnan(frame[:, 0]), :2]
    away = np.linalg.norm(present[:, None] - points[None], axis=2).min(axis=1)
    assert away.max() < road["lane_metres"] / 2


def test_options_of_the_world_are_the_page_s_too():
    road = road_facts({"world": "merge", "set": ["preset=flow"]})
    assert road is not None
    assert (road["speed_limit"], road["step_seconds"]) == (30.0, 1.0)


def _facts(method: Method) -> dict:
    return method_facts(method, completed(describe_method(method, 60, 6)))


def _filled(lane: np.ndarray) -> np.ndarray:
    """Points along a line, close enough to measure distances by."""
    steps = np.linspace(0, 1, 200)[:, None]
    return np.concatenate([a + steps * (b - a) for a, b in itertools.pairwise(lane)])
