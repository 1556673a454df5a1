"""Merge on real SUMO."""

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.worlds.sumo import merge
from fmarl.worlds.sumo.merge import PRESETS, MergeWorld

FULL = np.ones((5, 1), dtype=np.float32)


@pytest.fixture
def world():
    with merge.make() as opened:
        yield opened


def test_after_the_warm_up_about_fifty_vehicles_crawl(world: MergeWorld):
    world.reset(1)
    frame = world.frame()
    assert 45 <= len(frame) <= 55
    assert 3 < np.mean(frame[:, 2]) < 8


def test_learners_are_drawn_anew_with_every_seed_in_road_order(world: MergeWorld):
    first = world.reset(1)
    again = world.reset(1)
    other = world.reset(2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    for rows in (first, other):
        assert np.all(np.diff(rows[:, 0]) < 0)  # from the front to the back


def test_the_reward_is_the_mean_speed_of_everybody_over_the_limit(world: MergeWorld):
    world.reset(3)
    step = [world.step(FULL) for _ in range(50)][-1]
    assert step.reward[0] == pytest.approx(np.mean(world.frame()[:, 2]) / 20, rel=1e-6)


def test_a_learner_that_leaves_is_absent_until_the_next_vehicle_enters(world: MergeWorld):
    before = world.reset(1)
    left, returned = {}, set()
    for count in range(1500):
        step = world.step(FULL)
        for agent in np.flatnonzero(step.truncated & ~np.bool_(step.over)):
            left.setdefault(int(agent), count)
            assert np.array_equal(step.successor[agent], before[agent])
        absent = ~step.present
        assert not step.reward[absent].any()
        assert not step.successor[absent].any()
        assert np.isfinite(step.observation).all()
        returned |= {agent for agent in left if step.present[agent] and count > left[agent]}
        before = step.observation
        if step.over:
            break
    assert left
    assert returned
    assert {replacement.agent for replacement in world.replacements} >= returned


def test_observations_are_positions_and_speeds_on_the_road(world: MergeWorld):
    world.reset(4)
    for _ in range(300):
        rows = world.step(FULL).observation
        seen = rows[rows.any(axis=1)]
        assert np.all((seen[:, [0, 2, 4]] >= -0.02) & (seen[:, [0, 2, 4]] <= 1.05))
        assert np.all(seen[:, 2] > seen[:, 0])  # ahead is ahead
        assert np.all(seen[:, 4] < seen[:, 0])  # behind is behind


def test_the_way_left_that_we_reckon_is_sumos(world: MergeWorld):
    world.reset(2)
    for _ in range(700):
        world.step(FULL)
    for agent, name in enumerate(world._vehicles):
        if name is not None:
            assert world._remaining[agent] == pytest.approx(world._metres_to_exit(name), abs=1e-6)


def test_braking_learners_stop_the_whole_highway(world: MergeWorld):
    world.reset(1)
    step = [world.step(-FULL) for _ in range(600)][-1]
    assert step.reward[0] < 0.08


def test_flows_road_is_as_congested_as_measured_before():
    with merge.make("flow", controlled=False) as world:
        world.reset(1)
        frames = []
        for _ in range(750):
            world.step(FULL)
            frames.append(world.frame()[:, 2])
    speeds = [np.nanmean(frame) for frame in frames]
    counts = [np.sum(~np.isnan(frame)) for frame in frames]
    # facts/scenarios.md, section 2.5: 8.2 m/s; in the second half 6.7 m/s and 46 vehicles.
    assert np.mean(speeds) == pytest.approx(8.2, rel=0.05)
    assert np.mean(speeds[375:]) == pytest.approx(6.7, rel=0.03)
    assert np.mean(counts[375:]) == pytest.approx(46, rel=0.03)


def test_an_action_holds_for_all_its_steps():
    with merge.make(steps_per_action=5, warm_up_steps=600, epoch_steps=4) as world:
        world.reset(0)
        before = world.frame()[:, 2]
        after = world.step(-FULL)
        assert not after.over
        assert world._session.api.simulation.getTime() == pytest.approx(60.5)
        assert np.all(world.frame()[:5, 2] <= np.maximum(before[:5] - 0.7, 0))


def test_a_vehicle_can_stand_on_the_road_from_the_start():
    with merge.make(warm_up_steps=0, start_places=(("left", 100.0), ("bottom", 10.0))) as world:
        world.reset(0)
        world.step(FULL)
        assert len(world._session.api.vehicle.getIDList()) == 2
    with merge.make(start_places=(("moon", 1.0),)) as world, pytest.raises(BadInput, match="moon"):
        world.reset(0)


def test_agents_wait_for_vehicles_when_the_road_starts_empty():
    with merge.make(warm_up_steps=0) as world:
        assert not world.reset(0).any()
        first = world.step(FULL)
        assert not first.present.any()
        present = [world.step(FULL).present.sum() for _ in range(200)]
        assert present[-1] > 0
        assert np.all(np.diff(present) >= 0)


@pytest.mark.parametrize(
    "options", [{"num_learners": 0}, {"epoch_steps": 0}, {"ramp_per_hour": 0.0}]
)
def test_options_that_can_not_be_are_named(options):
    with pytest.raises(BadInput, match=next(iter(options))):
        merge.make(**options)


def test_the_presets_have_their_limits():
    assert {name: preset.speed_limit for name, preset in PRESETS.items()} == {
        "zju": 20.0,
        "flow": 30.0,
    }
