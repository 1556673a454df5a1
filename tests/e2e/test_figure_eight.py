"""Figure Eight on real SUMO."""

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.worlds.sumo import figure_eight
from fmarl.worlds.sumo.figure_eight import PRESETS, FigureEight, FigureEightWorld
from fmarl.worlds.sumo.vehicles import FlowDriver
from fmarl.worlds.world import World

FULL = np.ones((7, 1), dtype=np.float32)


def mean_speed(options: FigureEight, seed: int, action: float | None = None) -> float:
    """Mean speed of all vehicles over an epoch, in metres per second."""
    with FigureEightWorld(options) as world:
        world.reset(seed)
        random = np.random.default_rng(seed)
        speeds, over = [], False
        while not over:
            row = np.full((7, 1), action or 0.0, dtype=np.float32)
            noise = random.uniform(-1, 1, (7, 1)).astype(np.float32)
            over = world.step(noise if action is None else row).over
            speeds.append(np.mean(world.frame()[:, 2]))
    return float(np.mean(speeds))


def digest(seed: int, steps: int = 300) -> str:
    """Hash of everything an epoch shows to its agents under random actions."""
    seen, random = hashlib.sha256(), np.random.default_rng(seed)
    with figure_eight.make() as world:
        seen.update(world.reset(seed).tobytes())
        for _ in range(steps):
            step = world.step(random.uniform(-1, 1, (7, 1)).astype(np.float32))
            seen.update(step.observation.tobytes() + step.reward.tobytes())
    return seen.hexdigest()


def test_it_is_a_world():
    with figure_eight.make() as world:
        assert isinstance(world, World)
        assert world.spec.num_agents == 7
        assert world.reset(0).shape == (7, 6)


@pytest.mark.parametrize(
    ("options", "reference"),
    [
        # facts/scenarios.md, section 1.7: mean speeds on SUMO 1.28.
        (replace(PRESETS["flow"], controlled=False), 5.895),
        (
            replace(
                PRESETS["zju"],
                controlled=False,
                human_speed_mode=1,
                human_driver=FlowDriver(),
                start_jitter=0.0,
            ),
            4.42,
        ),
    ],
    ids=["flow: 7 IDM, 7 SUMO", "zju: 7 IDM, 7 SUMO"],
)
def test_baselines_are_those_measured_before(options, reference):
    assert mean_speed(options, seed=1, action=0.0) == pytest.approx(reference, rel=0.01)


def test_all_sumo_drives_at_a_quarter_of_the_limit():
    options = replace(PRESETS["zju"], controlled=False, start_jitter=0.0)
    assert mean_speed(options, seed=1, action=0.0) == pytest.approx(5.06, rel=0.005)


def test_routes_renewed_as_in_flow_give_the_speed_measured_before():
    options = replace(PRESETS["zju"], controlled=False, start_jitter=0.0, renews_routes=True)
    # facts/scenarios.md, section 1.7: 5.14 to 5.16.
    assert mean_speed(options, seed=1, action=0.0) == pytest.approx(5.15, rel=0.005)


def test_full_throttle_drives_as_sumo_does():
    options = replace(PRESETS["zju"], human_speed_mode=1)
    driven = mean_speed(options, seed=3, action=1.0)
    left_alone = mean_speed(replace(options, controlled=False), seed=3, action=0.0)
    assert driven == pytest.approx(left_alone, rel=0.005)


def test_random_driving_is_slow():
    assert mean_speed(PRESETS["zju"], seed=1) < 0.1 * 20


def test_the_same_seed_gives_the_same_bits_in_another_process_and_after_a_reset():
    code = "from test_figure_eight import digest; print(digest(5))"
    other = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=__file__.rsplit("/", 1)[0],
    )
    assert other.stdout.strip() == digest(5) == digest(5)
    assert digest(5) != digest(6)


def test_the_places_we_reckon_are_those_of_sumo():
    with FigureEightWorld(FigureEight()) as world:
        world.reset(2)
        random, over = np.random.default_rng(0), False
        while not over:
            over = world.step(random.uniform(-1, 1, (7, 1)).astype(np.float32)).over
        vehicle = world._session.api.vehicle
        for number, share in enumerate(world._places):
            edge, metres = world._loop.locate(share * world._loop.length)
            inside = metres > world._loop.edge_lengths[edge]
            on_lane = metres - world._loop.edge_lengths[edge] if inside else metres
            assert vehicle.getRoadID(f"vehicle_{number}").startswith(":") == inside
            assert on_lane == pytest.approx(vehicle.getLanePosition(f"vehicle_{number}"), abs=1e-3)


def test_observations_stay_between_zero_and_one():
    with figure_eight.make() as world:
        world.reset(0)
        for _ in range(500):
            rows = world.step(FULL).observation
            assert rows.dtype == np.float32
            assert rows.min() >= 0
            assert rows.max() <= 1.2  # speedDev lets a driver exceed the limit a little


def test_a_time_limit_cuts_the_epoch_off_and_a_step_after_it_is_refused():
    with figure_eight.make(epoch_steps=3) as world:
        world.reset(0)
        steps = [world.step(FULL) for _ in range(3)]
        assert [step.over for step in steps] == [False, False, True]
        assert steps[-1].truncated.all()
        assert not steps[-1].terminated.any()
        with pytest.raises(BadInput, match="reset first"):
            world.step(FULL)
        world.reset(1)
        assert not world.step(FULL).over


def test_a_collision_ends_the_epoch_without_reward():
    with figure_eight.make(learner_speed_mode=0, max_accel=3.0) as world:
        world.reset(0)
        steps = [world.step(FULL)]
        while not steps[-1].over:
            steps.append(world.step(FULL))
        assert len(steps) < 1500
        assert steps[-1].terminated.all()
        assert not steps[-1].truncated.any()
        assert not steps[-1].reward.any()
        assert steps[-2].reward.all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_action_that_is_no_number_is_refused_and_the_world_goes_on(bad):
    with figure_eight.make() as world:
        world.reset(0)
        action = FULL.copy()
        action[3] = bad
        with pytest.raises(BadInput, match="agent 3"):
            world.step(action)
        assert world.step(FULL).reward.all()


def test_seeds_jitter_the_starts_but_not_by_more_than_asked():
    with figure_eight.make(start_jitter=0.5) as world:
        first, second = world.reset(1), world.reset(2)
        moved = np.abs(first[:, 0] - second[:, 0]) * 421.94
        assert 0 < moved.max() <= 1.0


def test_variants_are_arguments():
    with figure_eight.make(learners=(0, 1), state="relative", reward="desired_velocity") as world:
        assert world.reset(0).shape == (2, 6)
        step = world.step(np.ones((2, 1), dtype=np.float32))
        assert 0 < step.observation[0, 3] < 0.1  # the gap to the next vehicle
        assert step.reward[0] == step.reward[1]


def test_a_second_simulation_in_the_same_process_is_refused():
    with figure_eight.make(), pytest.raises(BadInput, match="one at a time"):
        figure_eight.make()
    figure_eight.make().close()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_vehicles": 1}, "num_vehicles = 1"),
        ({"num_vehicles": 41}, "num_vehicles = 41"),
        ({"learners": ()}, "learners"),
        ({"learners": (14,)}, "learners"),
        ({"learners": (1, 1)}, "each once"),
        ({"epoch_steps": 0}, "epoch_steps = 0"),
        ({"max_accel": -1.0}, "max_accel"),
    ],
)
def test_options_that_can_not_be_are_named(options, named):
    with pytest.raises(BadInput, match=named):
        figure_eight.make(**options)


def test_an_unknown_preset_is_named():
    with pytest.raises(BadInput, match="moon"):
        figure_eight.make("moon")
