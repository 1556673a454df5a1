"""Observation, reward and control from plain arrays: no simulation is needed."""

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.worlds.sumo import observations as observations
from fmarl.worlds.sumo.loop import ORDER, Loop, flow_placement
from fmarl.worlds.sumo.roads.description import figure_eight_road
from fmarl.worlds.sumo.roads.network import compiled_network
from fmarl.worlds.sumo.vehicles import FlowDriver, VehicleType

POSITIONS = np.array([0.1, 0.4, 0.9])
SPEEDS = np.array([0.5, 0.25, 0.0])
NEIGHBOURS = observations.loop_neighbours(3, [0, 2])


def test_the_absolute_state_is_own_then_ahead_then_behind():
    columns = observations.absolute_columns(NEIGHBOURS, 3)
    rows = observations.absolute_state(POSITIONS, SPEEDS, columns)
    assert rows.dtype == np.float32
    assert rows == pytest.approx(
        np.array([[0.1, 0.5, 0.4, 0.25, 0.9, 0.0], [0.9, 0.0, 0.1, 0.5, 0.4, 0.25]]), abs=1e-7
    )


def test_the_relative_state_has_gaps_that_wrap_around_the_loop():
    rows = observations.relative_state(POSITIONS, SPEEDS, NEIGHBOURS, vehicle_length=0.05)
    assert rows[0] == pytest.approx([0.1, 0.5, -0.25, 0.25, 0.5, 0.15], abs=1e-6)
    assert rows[1] == pytest.approx([0.9, 0.0, 0.5, 0.15, -0.25, 0.45], abs=1e-6)


def test_on_an_open_road_missing_neighbours_get_the_ends_of_it():
    assert observations.lane_state(0.5, 0.25, None, None, 0.1) == (0.5, 0.25, 1.0, 1.0, 0.0, 0.0)
    assert observations.gap_state(0.5, 0.25, None, None, 0.1) == (0.5, 0.25, 0.75, 1.0, 0.25, 1.0)
    both = observations.lane_state(0.5, 0.25, (0.125, 0.5), (0.25, 0.75), 0.125)
    assert both == (0.5, 0.25, 0.75, 0.5, 0.125, 0.75)


def test_rewards_by_hand():
    assert observations.normalised_average_speed([0.0, 10.0], 20.0) == 0.25
    assert observations.normalised_average_speed([], 20.0) == 0.0
    assert observations.desired_velocity([0.0, 0.0], 20.0) == 0.0
    missed_half = observations.desired_velocity([10.0, 10.0], 20.0)
    assert missed_half == pytest.approx(0.5)
    assert observations.desired_velocity([60.0, 60.0], 20.0) == 0.0  # never negative


def test_actions_are_cut_to_one_and_nothing_else_passes():
    action = np.array([[0.5], [7.0], [-7.0]], dtype=np.float32)
    assert observations.clip_actions(action, 3) == [0.5, 1.0, -1.0]
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(BadInput, match="agent 1"):
            observations.clip_actions(np.array([[0.0], [bad]], dtype=np.float32), 2)
    with pytest.raises(BadInput, match="shape"):
        observations.clip_actions(np.zeros((2, 1), dtype=np.float32), 3)


def test_flows_driver_by_hand():
    driver = FlowDriver(wanted_speed=30.0, accel=1.0, decel=1.5)
    free = driver.acceleration(np.array([0.0]), np.array([0.0]), np.array([1e9]))
    assert free == pytest.approx([1.0])
    at_speed = driver.acceleration(np.array([30.0]), np.array([30.0]), np.array([1e9]))
    assert at_speed == pytest.approx([0.0])
    # v = v_ahead = 10, gap 12 = s0 + vT: the gap wanted, so only the free part is left, minus 1.
    following = driver.acceleration(np.array([10.0]), np.array([10.0]), np.array([12.0]))
    assert following == pytest.approx([1 - (1 / 3) ** 4 - 1])
    touching = driver.acceleration(np.array([0.0]), np.array([0.0]), np.array([0.0]))
    assert np.isfinite(touching).all()


def test_a_vehicle_type_says_its_numbers_to_sumo():
    text = VehicleType(accel=2.6, min_gap=2.0).to_xml("car", 30.0)
    assert 'accel="2.6"' in text
    assert 'minGap="2"' in text
    assert 'maxSpeed="30"' in text
    with pytest.raises(BadInput, match="accel"):
        VehicleType(accel=-1.0).to_xml("car", 30.0)


LOOP = Loop.measure(compiled_network(figure_eight_road()))


def test_fourteen_starts_are_flows():
    expected = [
        ("bottom", 0.000), ("bottom", 28.767), ("top", 21.334), ("upper_ring", 19.821),
        ("upper_ring", 48.589), ("upper_ring", 77.356), ("upper_ring", 106.123),
        ("upper_ring", 134.890), ("right", 22.005), ("left", 14.573), ("lower_ring", 13.060),
        ("lower_ring", 41.827), ("lower_ring", 70.594), ("lower_ring", 99.361),
    ]  # fmt: skip
    located = [LOOP.locate(place) for place in flow_placement(LOOP, 14)]
    assert [ORDER[edge] for edge, _ in located] == [edge for edge, _ in expected]
    # Flow's arcs are 141.3717 m, compiled ones 141.37: starts behind them differ by 2 mm.
    assert [metres for _, metres in located] == pytest.approx([m for _, m in expected], abs=0.003)


@pytest.mark.parametrize("count", range(2, 41))
def test_no_start_lies_in_a_junction_and_none_overtakes(count):
    places = flow_placement(LOOP, count)
    assert not LOOP.is_junction(places).any()
    assert np.all(np.diff(places) > 5)


def test_a_place_in_a_junction_moves_to_the_next_edge():
    inside = np.array([35.0, LOOP.length - 0.05])
    assert LOOP.is_junction(inside).all()
    assert LOOP.on_edges(inside).tolist() == [LOOP.edge_starts[1], 0.0]
