"""What SUMO would crash on is refused before it sees it."""

from importlib.metadata import version
from pathlib import Path

import pytest

from fmarl.errors import BadInput
from fmarl.worlds.sumo import figure_eight
from fmarl.worlds.sumo.roads.description import figure_eight_road
from fmarl.worlds.sumo.roads.network import compiled_network
from fmarl.worlds.sumo.session import TESTED_VERSION, SumoSession


@pytest.mark.parametrize("content", [None, "", "<net><edge", "<routes/>"])
def test_a_broken_network_never_reaches_sumo(tmp_path: Path, content):
    network = tmp_path / "road.net.xml"
    if content is not None:
        network.write_text(content)
    with pytest.raises(BadInput, match="Compile the road again"):
        SumoSession(network, step_seconds=0.1)
    figure_eight.make().close()  # nothing was left open


def test_a_torn_file_in_the_cache_is_compiled_again(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    road = figure_eight_road(radius=42.0)
    network = compiled_network(road)
    whole = network.read_text()
    network.write_text(whole[:1000])
    assert compiled_network(road).read_text() == whole


@pytest.mark.parametrize(
    "traffic", ["<routes", '<routes><vehicle id="a" route="b" depart="0"/></routes>']
)
def test_traffic_that_sumo_refuses_is_told_in_one_line_and_leaves_it_usable(traffic):
    with SumoSession(compiled_network(figure_eight_road()), step_seconds=0.1) as session:
        with pytest.raises(BadInput, match="SUMO refuses the traffic") as error:
            session.load(traffic, seed=1)
        assert "\n" not in str(error.value)
        session.load("<routes/>", seed=1)
        assert session.advance() == 0


def test_the_version_is_the_one_that_results_are_pinned_to():
    assert version("libsumo") == TESTED_VERSION
