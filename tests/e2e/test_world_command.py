"""`fmarl world` as a user runs it, on real SUMO."""

import json
from pathlib import Path

import numpy as np
import pytest

from fmarl.records.frames import read_frames


def test_a_road_is_played_and_its_speed_printed_with_an_interval(fmarl):
    done = fmarl("world", "figure-eight", "--policy", "sumo", "--epochs", "2")
    assert done.returncode == 0, done.stderr
    assert "95 % interval" in done.stdout
    assert "over 2 seeds" in done.stdout


def test_json_has_rewards_seeds_and_shapes(fmarl):
    done = fmarl("world", "merge", "--epochs", "2", "--set", "epoch_steps=50", "--json")
    facts = json.loads(done.stdout)
    assert facts["seeds"] == [0, 1]
    assert facts["steps"] == [50, 50]
    assert facts["world"]["num_agents"] == 5
    assert facts["low"] <= facts["mean"] <= facts["high"]


def test_the_same_command_prints_the_same_numbers(fmarl):
    words = ("world", "--epochs", "2", "--set", "epoch_steps=100", "--json")
    assert fmarl(*words).stdout == fmarl(*words).stdout


def test_frames_and_a_picture_are_written(fmarl, tmp_path: Path):
    frames, picture = tmp_path / "epoch.npz", tmp_path / "road.svg"
    done = fmarl(
        "world",
        "--epochs",
        "1",
        "--set",
        "epoch_steps=30",
        "--frames",
        str(frames),
        "--plot",
        str(picture),
    )
    assert done.returncode == 0, done.stderr
    assert read_frames(frames).shape == (30, 14, 3)
    assert np.isfinite(read_frames(frames)).all()
    assert "</svg>" in picture.read_text()


@pytest.mark.parametrize(
    ("word", "said"),
    [("merge", "stop-and-go"), ("gym:CartPole-v1", "gym:ID"), ("toy-bumpy", "flat")],
)
def test_every_world_has_a_manual(fmarl, word, said):
    done = fmarl("world", word, "--about")
    assert done.returncode == 0
    assert said in done.stdout


def test_worlds_of_others_are_played_too(fmarl):
    done = fmarl("world", "gym:CartPole-v1", "--epochs", "1", "--set", "num_agents=3")
    assert "3 agents, 4 numbers seen, 2 choices" in done.stdout


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("moon",), "moon"),
        (("figure-eight", "--set", "speed=3"), "Did you mean speed_limit?"),
        (("figure-eight", "--set", "radius=-1"), "radius = -1"),
        (("figure-eight", "--epochs", "0"), "epochs = 0"),
        (("figure-eight", "--seed", "-1"), "seed"),
        (("toy-quadratic", "--policy", "sumo"), "a road"),
        (("toy-quadratic", "--set", "num_agents=2", "--plot", "x.png"), "nothing to draw"),
        (("gym:CartPole-v1", "--policy", "brake"), "choices"),
        (("gym:Nothing-v7",), "Nothing-v7"),
        (("pettingzoo:no.such.module",), "no.such.module"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(fmarl, words, named):
    done = fmarl("world", *words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert named in done.stderr


@pytest.mark.parametrize("words", [("merge",), ("figure-eight", "--set", "radius=40")])
def test_a_certificate_is_for_the_presets_of_the_figure_eight(fmarl_here, words):
    done = fmarl_here("world", *words, "--certificate")
    assert done.returncode == 2
    assert "fmarl world figure-eight --certificate" in " ".join(done.stderr.split())
