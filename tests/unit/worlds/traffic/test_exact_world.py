"""The exact Figure Eight as a world: its promises, its starts, and what it refuses."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fmarl.errors import BadInput
from fmarl.worlds.check import check_world
from fmarl.worlds.sumo import figure_eight
from fmarl.worlds.traffic.compiled import source_digest
from fmarl.worlds.traffic.drivers import speed_factors

pytest.importorskip("numba")


def make(**options):
    return figure_eight.make(simulator="exact", **options)


def test_it_keeps_the_promises_of_a_world():
    check_world(lambda: make(epoch_steps=150), steps=200)
    check_world(lambda: make(preset="flow", epoch_steps=150), steps=200)


def test_there_may_be_several_in_one_process():
    with make() as one, make(num_vehicles=6) as other:
        assert one.reset(0).shape == (7, 6)
        assert other.reset(0).shape == (3, 6)


def sumo_factors(seeds: range, **options) -> np.ndarray:
    with figure_eight.make(**options) as world:
        assert isinstance(world, figure_eight.FigureEightWorld)
        found = []
        for seed in seeds:
            world.reset(seed)
            factor = world._session.api.vehicle.getSpeedFactor
            found.append([factor(name) for name in world._names])
    return np.array(found)


def test_speed_factors_are_the_draws_of_sumo():
    ours = [speed_factors(np.full(14, 0.1), seed) for seed in range(5)]
    np.testing.assert_array_equal(ours, sumo_factors(range(5)))
    wide = {"speed_deviation": 1.5}  # many of them are drawn again
    theirs = sumo_factors(range(3), learner_type=wide, human_type=wide)
    np.testing.assert_array_equal([speed_factors(np.full(14, 1.5), s) for s in range(3)], theirs)


@pytest.mark.long
def test_ten_thousand_speed_factors_are_those_of_sumo():
    theirs = sumo_factors(range(250), num_vehicles=40, start_jitter=0.0)
    ours = [speed_factors(np.full(40, 0.1), seed) for seed in range(250)]
    np.testing.assert_array_equal(ours, theirs)


def test_speed_factors_are_normal_and_cut_off():
    drawn = np.concatenate([speed_factors(np.full(100, 0.1), seed) for seed in range(100)])
    assert stats.kstest(drawn, "norm", (1.0, 0.1)).pvalue > 0.01
    assert speed_factors(np.full(1000, 1.5), 3).min() >= 0.2
    assert speed_factors(np.full(1000, 1.5), 3).max() <= 2.0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"renews_routes": True}, "renews_routes = true"),
        ({"step_seconds": 0.2}, "step_seconds = 0.2"),
        ({"human_type": {"car_following": "Krauss"}}, "car_following = IDM, Krauss"),
        ({"human_type": {"length": 9.4}}, "length = 9.4"),
        ({"learner_speed_mode": 9}, "speed mode 9"),
        ({"human_speed_mode": 64}, "speed mode 64"),
    ],
)
def test_what_only_sumo_keeps_is_refused_in_one_line_that_says_so(options, named):
    with pytest.raises(BadInput, match=named) as refused:
        make(**options)
    assert str(refused.value).endswith("Use simulator=sumo.")
    assert "\n" not in str(refused.value)


def test_starts_on_top_of_each_other_are_refused():
    with make(num_vehicles=40, start_jitter=5.0) as world, pytest.raises(BadInput, match="close"):
        world.reset(0)


def test_starts_of_long_vehicles_on_both_lanes_of_the_crossing_are_refused():
    crowded = make(num_vehicles=20, human_type={"length": 7.0})
    with crowded, pytest.raises(BadInput, match="both lanes of the crossing"):
        crowded.reset(0)
    with make(num_vehicles=20) as world:
        world.reset(0)


def test_actions_of_learners_that_are_left_alone_change_nothing():
    with make(controlled=False) as world:
        seen = []
        for action in (-1.0, 1.0):
            world.reset(3)
            seen.append([world.step(np.full((7, 1), action, np.float32)) for _ in range(50)][-1])
        np.testing.assert_array_equal(seen[0].observation, seen[1].observation)


def test_without_numba_one_line_says_how_to_get_it():
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from fmarl.worlds.registry import make_world\n"
        "make_world('figure-eight', simulator='exact')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'fmarl[fast]'" in done.stderr.splitlines()[-1]


RULE = "from rules.compiled import compiled\n@compiled\ndef rule(x):\n    return x + {number}\n"
ENTRY = (
    "from rules.compiled import entry\nfrom rules.rule import rule\n"
    "@entry\ndef run(x):\n    return rule(x)\nprint(run(1), run.stats.cache_hits)\n"
)


def test_a_rule_changed_in_another_file_is_never_served_from_an_old_program(tmp_path, monkeypatch):
    package = tmp_path / "rules"
    package.mkdir()
    source = Path(figure_eight.__file__).parents[1] / "traffic" / "compiled.py"
    (package / "__init__.py").touch()
    (package / "compiled.py").write_text(source.read_text())
    (package / "main.py").write_text(ENTRY)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said = []
    for number in (1, 2):
        (package / "rule.py").write_text(RULE.format(number=number))
        words = [sys.executable, "-m", "rules.main"]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
        said.append([line.split()[0] for line in done.stdout.splitlines()])
        kept = list((tmp_path / "cache" / "fmarl" / "programs").iterdir())
    assert said == [["2"], ["3"]]
    assert len(kept) == 2  # one folder for each text of the rules
    assert (tmp_path / "cache" / "fmarl" / "programs" / source_digest(package)) in kept
