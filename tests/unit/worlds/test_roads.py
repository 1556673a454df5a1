import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.worlds.sumo.roads import network as network_module
from fmarl.worlds.sumo.roads.__main__ import PRESET_ROADS
from fmarl.worlds.sumo.roads.description import figure_eight_road, merge_road
from fmarl.worlds.sumo.roads.network import (
    SHIPPED,
    compile_network,
    compiled_network,
    lane_lengths,
    lane_shapes,
    network_name,
)


@pytest.mark.parametrize("road", PRESET_ROADS, ids=network_name)
def test_a_shipped_network_is_what_netconvert_makes_today(road, tmp_path: Path):
    fresh = compile_network(road, tmp_path)
    assert (SHIPPED / network_name(road)).read_text() == fresh.read_text()


def test_only_the_presets_networks_are_shipped():
    shipped = {file.name for file in SHIPPED.glob("*.net.xml")}
    assert shipped == {network_name(road) for road in PRESET_ROADS}


def test_the_figure_eight_is_as_long_as_flows():
    lanes = lane_lengths(compiled_network(figure_eight_road()))
    assert sum(lanes.values()) == pytest.approx(421.94)
    assert lanes[":center_0_0"] == lanes[":center_1_0"] == pytest.approx(9.4)


def test_bottom_to_top_has_priority_at_the_crossing():
    text = compiled_network(figure_eight_road()).read_text()
    crossing = text[text.index('<junction id="center"') :]
    # Request 0 is right → left and must answer to request 1, bottom → top.
    assert re.findall(r'response="(\d+)"', crossing)[:2] == ["10", "00"]


def test_the_ramp_goes_before_the_highway():
    text = compiled_network(merge_road()).read_text()
    joint = text[text.index('<junction id="center"') :]
    assert re.findall(r'response="(\d+)"', joint)[:2] == ["00", "01"]
    assert sum(lane_lengths(compiled_network(merge_road())).values()) == pytest.approx(947.68)


def test_shapes_start_where_the_lane_starts():
    shapes = lane_shapes(compiled_network(merge_road()))
    assert shapes["center_0"].shape[1] == 2
    assert np.linalg.norm(shapes["center_0"][-1] - shapes["center_0"][0]) == pytest.approx(
        88.67, abs=0.1
    )


def test_any_changed_number_changes_the_name():
    roads = [
        figure_eight_road(),
        figure_eight_road(radius=31.0),
        figure_eight_road(speed_limit=21.0),
        merge_road(),
        merge_road(ramp=90.0),
        merge_road(limit_turn_speed=False),
    ]
    assert len({network_name(road) for road in roads}) == len(roads)


def test_a_road_of_ones_own_is_compiled_once_and_then_found(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    road = figure_eight_road(radius=40.0)
    first = compiled_network(road)
    monkeypatch.setattr(network_module, "compile_network", None)
    assert compiled_network(road) == first
    assert lane_lengths(first)["upper_ring_0"] == pytest.approx(1.5 * np.pi * 40, abs=0.01)


def test_without_netconvert_the_fix_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "sumo", None)
    with pytest.raises(BadInput, match=r"pip install 'fmarl\[roads\]'"):
        compiled_network(figure_eight_road(radius=41.0))


def test_a_road_that_netconvert_refuses_is_told_in_one_line(tmp_path: Path):
    nowhere = replace(figure_eight_road(), connections=(("bottom", "moon"),))
    with pytest.raises(BadInput, match="netconvert refuses the road figure-eight") as error:
        compile_network(nowhere, tmp_path)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan"), float("inf")])
def test_lengths_are_positive(radius):
    with pytest.raises(BadInput, match="radius"):
        figure_eight_road(radius=radius)
