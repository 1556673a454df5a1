"""Curves, graph and meters as a viewer sees them: what the record says, and nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.recordings import TESTED, counts_in, lines_of, mean_gradient_norm
from browser.viewer import OpenTab, Viewer
from e2e.page import Page

pytestmark = pytest.mark.long

CONSENSUS, DECAY = "consensus.seed-0", "decay"
MESSAGES = """async ([run, before, line]) => {
  const { messagesBetween } = await import("/static/graph/messages.js");
  const about = await (await fetch(`/runs/${run}/about`)).json();
  return [messagesBetween(before, line, about.method), about.method.links];
}"""


@pytest.fixture
def viewer(figure_eight: Page, open_tab: OpenTab) -> Viewer:
    """Looks at the first run of FIRL_C, paused."""
    viewer = open_tab(figure_eight.address).open_run()
    viewer.look_at(CONSENSUS)
    viewer.pause()
    return viewer


@pytest.fixture
def record(recorded: Path) -> Path:
    """The folder of that run."""
    return recorded / "eight" / "consensus" / "seed-0"


def test_the_graph_says_how_many_messages_the_shown_epoch_had(viewer: Viewer, record: Path):
    for epoch in (2, 6):
        viewer.scrub(TESTED, epoch, 0)
        counted = {name: counts_in(record, epoch, name) for name in ("uploads", "exchanges")}
        assert counted == {"uploads": 7, "exchanges": 6 * 2 * 13}  # six updates on 13 links
        viewer.wait_for_text("graph-sent", f"Epoch {epoch}: 7 uploads, 7 downloads, 156 exchanges.")


def test_messages_pulse_along_the_graph_and_then_it_rests(viewer: Viewer):
    viewer.scrub(TESTED, 2, 0)
    viewer.wait_for(RESTS)
    resting = viewer.picture("graph")
    viewer.scrub(TESTED, 4, 0)
    viewer.wait_for_change("graph", resting)
    viewer.wait_for("before => document.getElementById('graph').toDataURL() === before", resting)


RESTS = """(() => {
  let [before, same] = ["", 0];
  return () => {
    const now = document.getElementById("graph").toDataURL();
    same = now === before ? same + 1 : 0;
    before = now;
    return same > 60;
  };
})()"""


def test_there_is_one_dot_for_each_message_of_the_ledger(viewer: Viewer, record: Path):
    before, line = lines_of(record, "epoch")[2:4]
    messages, links = viewer.page.evaluate(MESSAGES, [CONSENSUS, before, line])
    for kind in ("upload", "download", "exchange"):
        senders = [
            one["from" if kind != "download" else "to"] for one in messages_of(messages, kind)
        ]
        ledger = zip(line["ledger"][f"{kind}s"], before["ledger"][f"{kind}s"], strict=True)
        assert [senders.count(agent) for agent in range(7)] == [now - then for now, then in ledger]
    ways = {(one["from"], one["to"]) for one in messages_of(messages, "exchange")}
    assert ways == {way for one, other in links for way in ((one, other), (other, one))}


def messages_of(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in messages if one["kind"] == kind]


def test_meters_show_the_totals_of_the_record_and_that_the_closed_form_agrees(
    viewer: Viewer, record: Path
):
    lines = {line["epoch"]: line for line in lines_of(record, "epoch")}
    assert meters(viewer) == [
        [lines[6][name], "✓ as computed"] for name in ("uploads", "updates", "exchanges", "mixings")
    ]
    viewer.scrub(TESTED, 2, 0)
    viewer.wait_for_text("graph-sent", "Epoch 2")
    assert meters(viewer) == [
        [lines[2][name], "✓ as computed"] for name in ("uploads", "updates", "exchanges", "mixings")
    ]
    sent = viewer.page.locator("#meters dd").first.inner_text()
    assert sent == f"{lines[2]['bytes_sent'] / 1e6:.3g} MB"


def meters(viewer: Viewer) -> list[list[Any]]:
    """The counts, each with what is said about it."""
    rows = viewer.page.locator("#meters tr").all()
    cells = [row.get_by_role("cell").all_inner_texts() for row in rows]
    return [[int(re.sub(r"\D", "", count)), words] for count, words in cells]


def test_a_method_without_a_closed_form_gets_no_tick(
    other_worlds: Page, open_tab: OpenTab, recorded: Path
):
    viewer = open_tab(other_worlds.address).open_run()
    viewer.look_at("toy")
    viewer.wait_for_text("graph-sent", "Epoch 5")
    [*_, last] = lines_of(recorded / "others" / "toy", "epoch")
    assert meters(viewer) == [
        [last[name], "no closed form"] for name in ("uploads", "updates", "exchanges", "mixings")
    ]


def test_seeds_are_one_curve_that_ends_at_their_mean(viewer: Viewer, recorded: Path):
    tests = [lines_of(recorded / "eight" / "consensus" / f"seed-{seed}", "test") for seed in (0, 1)]
    mean = sum(lines[-1]["mean"] for lines in tests) / 2
    [said] = re.findall("FIRL_C [^,]*", viewer.text_of("curves"))
    assert said.endswith(f" {mean:#.3g}")
    expect(viewer.page.locator("#curves-note")).to_contain_text("mean over 1 to 2 seeds")


def test_the_gradient_norm_is_the_mean_of_what_was_recorded(viewer: Viewer, record: Path):
    assert f"running mean {mean_gradient_norm(record):#.3g}," in viewer.text_of("gradient")


def test_a_run_that_is_hidden_has_no_curve_and_gets_it_back(viewer: Viewer):
    row = viewer.row(DECAY)
    colour = row.evaluate("(row) => row.style.getPropertyValue('--look')")
    assert viewer.pixels_of("curves", colour) > 0
    row.get_by_role("checkbox").uncheck()
    viewer.wait_for("() => !document.getElementById('curves').ariaLabel.includes('FIRL_D')")
    assert viewer.pixels_of("curves", colour) == 0
    row.get_by_role("checkbox").check()
    viewer.wait_for_text("curves", "FIRL_D")
    assert viewer.pixels_of("curves", colour) > 0


def test_curves_can_be_had_of_training_and_against_bytes(viewer: Viewer):
    tested = viewer.picture("curves")
    viewer.page.get_by_role("radio", name="training").check()
    viewer.wait_for_text("curves", "Training NAS against epochs")
    trained = viewer.picture("curves")
    viewer.page.get_by_role("radio", name="per byte sent").check()
    viewer.wait_for_text("curves", "Test NAS against bytes sent")
    assert len({tested, trained, viewer.picture("curves")}) == 3


def test_a_world_without_a_road_shows_everything_else(other_worlds: Page, open_tab: OpenTab):
    viewer = open_tab(other_worlds.address).open_run()
    viewer.look_at("toy")
    expect(viewer.page.get_by_role("region", name="Road")).to_be_hidden()
    for panel in ("Learning", "Communication", "Cost", "Gradient norm"):
        expect(viewer.page.get_by_role("region", name=panel)).to_be_visible()
    viewer.wait_for_text("curves", "Test reward against epochs: FIRL")
    viewer.wait_for_text("graph", "3 agents")
    for canvas in ("curves", "graph", "gradient"):
        assert viewer.pixels_of(canvas, "transparent") < viewer.pixels_in(canvas)
