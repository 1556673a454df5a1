"""The road as a viewer sees it: vehicles stand where the record says, and obey the controls."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from browser.recordings import TESTED, frames_of, normalised_speed
from browser.viewer import OpenTab, Viewer
from e2e.page import Page

CONSENSUS, DECAY = "consensus.seed-0", "decay"
NUM_AGENTS = 7
PIXELS = 0.6
"""Frames are kept to 2.5 cm and a metre is some five pixels; the rest is rounding."""


@pytest.fixture
def viewer(figure_eight: Page, open_tab: OpenTab) -> Viewer:
    """Looks at the first run of FIRL_C."""
    viewer = open_tab(figure_eight.address).open_run()
    viewer.look_at(CONSENSUS)
    return viewer


@pytest.fixture
def record(recorded: Path) -> Path:
    """The folder of that run."""
    return recorded / "eight" / "consensus" / "seed-0"


def test_vehicles_move_while_it_plays_and_stand_while_it_is_paused(viewer: Viewer):
    viewer.wait_for_change("road", viewer.picture("road"))
    viewer.pause()
    assert viewer.is_still("road")
    before = viewer.picture("road")
    viewer.page.locator("#play").click()
    viewer.wait_for_change("road", before)


def test_what_is_said_of_the_road_is_what_the_record_has(viewer: Viewer, record: Path):
    for epoch, step in [(0, 0), (2, 150), (6, 299)]:
        frame = frames_of(record, epoch)[step]
        viewer.scrub(TESTED, epoch, step)
        said = re.fullmatch(
            rf"FIRL_C .*: (\d+) vehicles, NAS (.+), epoch {epoch}, step {step}",
            viewer.text_of("road"),
        )
        assert said is not None
        assert int(said[1]) == np.isfinite(frame[:, 0]).sum()
        assert float(said[2]) == pytest.approx(normalised_speed(frame), abs=0.0051)


def test_vehicles_are_drawn_to_scale_where_the_record_has_them(viewer: Viewer, record: Path):
    frames = frames_of(record, 6)
    viewer.scrub(TESTED, 6, 0)
    first_drawn, first = in_pixels(viewer), in_metres(frames[0])
    viewer.scrub(TESTED, 6, 299)
    drawn, last = in_pixels(viewer), in_metres(frames[299])
    assert np.abs(last - first).max() > 10  # metres: they have gone somewhere

    turn_and_scale, shift = np.polyfit(first, first_drawn, 1)  # over the complex numbers

    assert np.abs(turn_and_scale * first + shift - first_drawn).max() < PIXELS
    assert np.abs(turn_and_scale * last + shift - drawn).max() < PIXELS


def in_metres(frame: np.ndarray) -> np.ndarray:
    """Vehicles in the order of drawing, the agents last, as complex numbers; north is downwards."""
    x, y, _ = np.roll(frame, -NUM_AGENTS, axis=0).T
    return x - 1j * y


def in_pixels(viewer: Viewer) -> np.ndarray:
    right, down = np.array(viewer.drawn_vehicles()).T
    return right + 1j * down


def test_scrubbing_moves_the_vehicles_and_the_clock(viewer: Viewer):
    viewer.scrub(TESTED, 4, 10)
    expect(viewer.page.locator("#step-text")).to_have_text("0:01.0 / 0:29.9")
    expect(viewer.page.locator("#epoch-text")).to_have_text("4")
    early = viewer.picture("road")
    viewer.scrub(TESTED, 4, 290)
    expect(viewer.page.locator("#step-text")).to_have_text("0:29.0 / 0:29.9")
    assert viewer.picture("road") != early
    viewer.scrub(TESTED, 4, 10)
    assert viewer.picture("road") == early
    viewer.scrub(TESTED, 0, 10)
    assert viewer.picture("road") != early
    expect(viewer.page.locator("#follow")).to_have_attribute("aria-pressed", "false")


def test_two_runs_are_compared_side_by_side_on_one_clock(viewer: Viewer):
    viewer.compare_button(DECAY).click()
    viewer.wait_for_text("road", "; FIRL_D")
    viewer.wait_for(BOTH_STEP)
    halves = halves_of(viewer)
    viewer.wait_for(HALVES_MOVED, halves)
    viewer.pause()
    consensus, decay = viewer.text_of("road").split("; ")
    assert consensus.split(", ")[-2:] == decay.split(", ")[-2:]  # epoch and step

    viewer.compare_button(DECAY).click()
    viewer.wait_for("() => !document.getElementById('road').ariaLabel.includes(';')")
    assert "FIRL_D" not in viewer.text_of("road")


BOTH_STEP = "() => document.getElementById('road').ariaLabel.split(', step ').length === 3"
HALF = """(number) => {
  const { width, height } = document.getElementById("road");
  const part = document.createElement("canvas");
  [part.width, part.height] = [width / 2, height];
  const road = document.getElementById("road");
  part.getContext("2d").drawImage(road, (-number * width) / 2, 0);
  return part.toDataURL();
}"""
HALVES_MOVED = f"(before) => [0, 1].every((number) => ({HALF})(number) !== before[number])"


def halves_of(viewer: Viewer) -> list[str]:
    return [viewer.page.evaluate(HALF, number) for number in (0, 1)]


PLACE_LABELS = """async (wishes) =>
  (await import("/static/road/labels.js")).placeLabels(wishes)"""


def label(words: str, x: float, rank: int = 0) -> dict[str, Any]:
    """A label that wants to be at x, above the road or below it."""
    return {"words": words, "width": 7, "rank": rank, "spots": [[x, 0], [x, 30]]}


def test_labels_of_close_vehicles_keep_apart(viewer: Viewer):
    close = [label("1", 0), label("2", 5), label("3", 9), label("4", 40), label("5", 4, rank=1)]
    placed = viewer.page.evaluate(PLACE_LABELS, close)
    found = {one["words"]: (one["x"], one["y"]) for one in placed}
    assert found["5"] == (4, 0)  # who brakes has its best place
    assert found["1"] == (0, 30)  # beside it there is none
    assert found["4"] == (40, 0)
    assert found.keys() == {"1", "4", "5"} or found["3"] == (9, 0)
    assert "2" not in found


def test_numbers_in_a_queue_never_touch_and_who_brakes_has_one(viewer: Viewer):
    numbers = viewer.page.evaluate(DRAW_QUEUE, 1.5)
    assert "3" in [words for words, *_ in numbers]
    for (_, x, y, width), (_, other_x, other_y, other_width) in itertools.combinations(numbers, 2):
        apart = (width + other_width) / 2 + 3
        assert abs(x - other_x) >= apart or abs(y - other_y) >= 11
    assert len(viewer.page.evaluate(DRAW_QUEUE, 8)) == NUM_AGENTS


DRAW_QUEUE = """async (metres) => {
  const [{ drawScene }, { Painter }] = await Promise.all(
    ["road/scene.js", "core/painter.js"].map((name) => import(`/static/${name}`)));
  const context = document.createElement("canvas").getContext("2d");
  const drawn = [];
  context.fillText = (words, x, y) => drawn.push([words, x, y, context.measureText(words).width]);
  const vehicles = [0, 1, 2, 3, 4, 5, 6].map((agent) =>
    ({ x: agent * metres, y: 0, speed: 0, heading: 0, agent, braked: agent === 3, trail: [] }));
  const road = { lane_metres: 3.2, vehicle_metres: 1, speed_limit: 20 };
  const fit = { scale: 4, angle: 0, x: ([x]) => 4 * x, y: ([, y]) => -4 * y };
  const painter = new Painter(context, { ink: "black", car: "grey", alarm: "red" });
  drawScene(painter, { vehicles, collided: [] }, road, fit);
  return drawn;
}"""
"""Seven agents in a row, so many metres apart; the fourth brakes."""


def test_the_merge_is_drawn_whole(other_worlds: Page, open_tab: OpenTab, recorded: Path):
    viewer = open_tab(other_worlds.address).open_run()
    viewer.look_at("merge")
    viewer.wait_for_text("road", "vehicles, NAS")
    viewer.wait_for_change("road", viewer.picture("road"))
    viewer.pause()
    viewer.scrub([0, 1, 2], 2, 50)
    present = np.isfinite(frames_of(recorded / "others" / "merge", 2)[50, :, 0]).sum()
    assert f": {present} vehicles" in viewer.text_of("road")
    right, down = np.array(viewer.drawn_vehicles()).T
    width, height = viewer.page.evaluate("() => [road.width, road.height]")
    assert len(right) >= present  # some of them twice, in the closer look
    first = slice(0, present)
    assert (right[first] >= 0).all() and (right[first] <= width).all()
    assert (down[first] >= 0).all() and (down[first] <= height).all()
    assert np.ptp(right[first]) > width / 2


def test_with_less_motion_wanted_nothing_moves_by_itself(figure_eight: Page, open_tab: OpenTab):
    viewer = open_tab(figure_eight.address, reduced_motion="reduce").open_run()
    assert viewer.is_still("road")
    assert viewer.is_still("graph")
    expect(viewer.page.locator("#play")).to_be_disabled()
    before = viewer.picture("road")
    viewer.page.keyboard.press("End")
    viewer.wait_for_change("road", before)
