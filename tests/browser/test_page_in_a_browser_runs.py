"""The list of runs: told apart by what differs, copies shown once, the choice in the address."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.recordings import TESTED
from browser.viewer import OpenTab, Serve, Viewer
from e2e.page import Page

CONSENSUS, DECAY = "consensus.seed-0", "decay"
READ_AND_WRITE = """async (fragment) => {
  const { readAddress, writeAddress } = await import("/static/core/address.js");
  return writeAddress(readAddress(fragment));
}"""
ROWS = """() => [...document.querySelectorAll(".run")].map((row) =>
  [".label", ".difference", ".seed"].map((part) => row.querySelector(part).innerText).join())"""
CUT = """() => [...document.querySelectorAll(`.run :is(.label, .difference, .note),
  #events-list *`)]
  .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.innerText)"""


@pytest.mark.parametrize("width", [1280, 400])
def test_no_two_runs_of_the_list_look_the_same(many: Page, open_tab: OpenTab, width: int):
    viewer = open_tab(many.address, viewport={"width": width, "height": 800}).open_run()
    rows = viewer.page.evaluate(ROWS)
    assert len(rows) == len(set(rows)) == 9
    assert viewer.page.evaluate(CUT) == []
    expect(viewer.row("options").locator(".difference")).to_have_text(
        "toy-bumpy · steps_per_update=20 · epoch_steps=20"
    )
    expect(viewer.row("twice").locator(".difference")).to_contain_text("· twice")


def test_lines_of_one_label_are_told_apart_by_what_differs(many: Page, open_tab: OpenTab):
    viewer = open_tab(many.address).open_run()
    viewer.look_at("first")
    viewer.wait_for_text("curves", "steps_per_update=10 epoch_steps=40 FIRL")
    viewer.wait_for_text("curves", "epoch_steps=20")


def test_a_copy_is_one_run_and_no_other_seed(many: Page, open_tab: OpenTab):
    """Nor is a run with the settings and the seed of another."""
    viewer = open_tab(many.address).open_run()
    viewer.look_at("first")
    expect(viewer.row("first")).to_contain_text("Copied to first-copy: one run, counted once.")
    expect(viewer.row("first-copy")).to_have_count(0)
    expect(viewer.page.locator("#curves-note")).to_contain_text("mean over 1 to 4 seeds")


def test_a_copy_that_went_on_takes_the_place_of_the_run(
    tmp_path: Path, recorded: Path, serve: Serve, open_tab: OpenTab
):
    for name in ("a", "b"):
        shutil.copytree(recorded / "others" / "toy", tmp_path / name)
    viewer = open_tab(serve(tmp_path).address).open_run()
    expect(viewer.row("a")).to_contain_text("Copied to b")
    with (tmp_path / "b" / "metrics.jsonl").open("a") as metrics:
        metrics.write('{"kind":"none","epoch":5,"update_count":0}\n')
    expect(viewer.row("b")).to_contain_text("Copied to a")
    expect(viewer.row("a")).to_have_count(0)
    expect(viewer.page.locator("#about")).to_contain_text("b · toy-bumpy")


def test_all_events_are_there_with_day_and_time(many: Page, open_tab: OpenTab):
    narrow = {"width": 400, "height": 800}
    viewer = open_tab(many.address, viewport=narrow, timezone_id="Europe/Berlin").open_run()
    events = viewer.page.locator("#events-list li")
    expect(events).to_have_count(80)
    expect(events.first).to_contain_text("1 Jan 2026, 12:19:00")
    expect(events.first).to_contain_text("first lost a world (number 79,")
    expect(events.last).to_contain_text("1 Jan 2026, 11:00:00")
    assert viewer.page.evaluate(CUT) == []
    events.last.scroll_into_view_if_needed()
    expect(events.last).to_be_in_viewport(ratio=1)


@pytest.fixture
def viewer(figure_eight: Page, open_tab: OpenTab) -> Viewer:
    return open_tab(figure_eight.address).open_run()


def set_up(viewer: Viewer) -> list[str]:
    """Choose about everything that can be chosen; what is then seen."""
    viewer.look_at(DECAY)
    viewer.compare_button(CONSENSUS).click()
    viewer.row("consensus.seed-1").get_by_role("checkbox").uncheck()
    viewer.page.get_by_role("radio", name="training").check()
    viewer.pause()
    viewer.scrub(TESTED, 4, 120)
    return shown(viewer)


def shown(viewer: Viewer) -> list[str]:
    return [viewer.text_of(name) for name in ("about", "road", "curves")]


def test_a_reload_and_a_link_show_the_same(viewer: Viewer, open_tab: OpenTab):
    before = set_up(viewer)
    viewer.wait_for("() => location.hash.includes('step=120')")
    _, road, curves = before
    assert "; FIRL_C" in road and "epoch 4, step 120" in road and "Training" in curves
    viewer.page.reload()
    for visitor in (viewer, open_tab(viewer.page.url).open_run()):
        visitor.wait_for_text("road", before[1])
        assert shown(visitor) == before
        assert not visitor.row("consensus.seed-1").get_by_role("checkbox").is_checked()
        expect(visitor.page.locator("#play")).to_have_accessible_name("Play")
        expect(visitor.page.locator("#follow")).to_have_attribute("aria-pressed", "false")


def test_back_and_forward_lead_through_what_was_chosen(viewer: Viewer):
    bare = viewer.page.url
    for run in (DECAY, "consensus.seed-1"):
        viewer.look_at(run)
        viewer.wait_for("run => location.hash === `#run=${run}`", run)
    viewer.page.go_back()
    expect(viewer.look_button(DECAY)).to_have_attribute("aria-pressed", "true")
    viewer.page.go_back()
    assert viewer.page.url == bare
    viewer.page.go_forward()
    viewer.page.go_forward()
    expect(viewer.look_button("consensus.seed-1")).to_have_attribute("aria-pressed", "true")


def test_the_moment_of_a_replay_is_no_step_back(viewer: Viewer):
    viewer.pause()
    viewer.wait_for("() => location.hash.includes('step=')")
    length = viewer.page.evaluate("() => history.length")
    for step in ("10", "20"):
        viewer.page.locator("#step").fill(step)
        viewer.wait_for("step => location.hash.endsWith(`step=${step}`)", step)
    assert viewer.page.evaluate("() => history.length") == length


ADDRESSES = {
    "": "",
    "#run=a.b&epoch=6&step=10": "#run=a.b&epoch=6&step=10",
    "#run=<img src=x>&beside=../../etc&hide=%00": "",
    "#epoch=-1&step=1e9&curves=__proto__&panel=%3Cscript%3E": "",
    "#epoch=99999999999999&step=0x10": "",
    "#toString=1&constructor=2": "",
    "#run=" + "a" * 300: "",
    "#" + "hide=a&" * 5000: "#" + "&".join(["hide=a"] * 200),
}
"""What may be asked for, and what is read of it."""


def test_what_an_address_can_not_say_is_left_out(viewer: Viewer):
    for given, read in ADDRESSES.items():
        assert viewer.page.evaluate(READ_AND_WRITE, given) == read, given[:60]


def test_an_address_of_nothing_that_is_there_shows_the_page_as_ever(
    figure_eight: Page, open_tab: OpenTab
):
    hostile = "#run=nobody&beside=nobody&epoch=77&step=99999999&panel=nothing&hide=nobody"
    viewer = open_tab(figure_eight.address + hostile).open_run()
    viewer.wait_for_text("road", "FIRL")
    viewer.look_at(DECAY)
    viewer.wait_for("run => location.hash.startsWith(`#run=${run}`)", DECAY)

    beyond = open_tab(figure_eight.address + f"#run={DECAY}&epoch=5&step=99999999").open_run()
    beyond.wait_for_text("road", f"epoch {TESTED[-1]}, step 299")
    expect(beyond.page.locator("#step-text")).to_have_text("0:29.9 / 0:29.9")


def test_a_link_leads_to_its_panel_where_the_page_scrolls(figure_eight: Page, open_tab: OpenTab):
    narrow = {"width": 400, "height": 800}
    viewer = open_tab(figure_eight.address, viewport=narrow).open_run()
    viewer.page.locator("#title-meters").evaluate("(one) => one.scrollIntoView()")
    viewer.wait_for("() => location.hash.includes('panel=')")
    link = open_tab(figure_eight.address + "#panel=meters", viewport=narrow).open_run()
    expect(link.page.locator("#title-meters")).to_be_in_viewport()


def test_a_jump_to_the_panels_changes_nothing_else(viewer: Viewer):
    viewer.look_at(DECAY)
    viewer.wait_for("run => location.hash === `#run=${run}`", DECAY)
    viewer.page.locator(".skip").focus()
    viewer.page.keyboard.press("Enter")
    viewer.wait_for("() => document.activeElement.id === 'panels'")
    viewer.wait_for("run => location.hash === `#run=${run}`", DECAY)
    expect(viewer.look_button(DECAY)).to_have_attribute("aria-pressed", "true")
