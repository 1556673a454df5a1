"""The page without a mouse: every control can be reached, seen to be reached, and used."""

import pytest
from playwright.sync_api import expect

from browser.recordings import TESTED
from browser.viewer import OpenTab, Viewer
from e2e.page import Page

pytestmark = pytest.mark.long

LAST_STEP = 299
NAME = """(one) => one.id || one.getAttribute("popovertarget") || one.ariaLabel
  || (one.name && `${one.name} ${one.value}`) || one.innerText"""
REACHABLE = f"""() => [...document.querySelectorAll("button, input, a, [tabindex='0']")]
  .filter((one) => one.checkVisibility() && !one.disabled)
  .filter((one) => one.type !== "radio" || one.checked) // arrows lead to the others
  .map({NAME})"""
RING = """(one) => {
  const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(one);
  if (outlineStyle === "none" || parseFloat(outlineWidth) < 1) return "no ring";
  const wide = parseFloat(outlineWidth) + parseFloat(outlineOffset);
  const box = one.getBoundingClientRect();
  const isIn = (left, top, right, bottom) => box.left - wide >= left - 0.5
    && box.top - wide >= top - 0.5 && box.right + wide <= right + 0.5
    && box.bottom + wide <= bottom + 0.5;
  if (!isIn(0, 0, innerWidth, innerHeight)) return "outside the window";
  for (let outer = one.parentElement; outer; outer = outer.parentElement) {
    if (outer === document.body || getComputedStyle(outer).overflow === "visible") continue;
    const { left, top } = outer.getBoundingClientRect();
    const [x, y] = [left + outer.clientLeft, top + outer.clientTop];
    if (!isIn(x, y, x + outer.clientWidth, y + outer.clientHeight)) return `cut by ${outer.id}`;
  }
  return "whole";
}"""
"""How the ring around what has the focus is seen."""
FOCUSED = f"""() => {{
  const one = document.activeElement;
  if (one === document.body) return null;
  const ringed = one.type === "radio" ? one.nextElementSibling : one;
  return [({NAME})(one), ({RING})(ringed)];
}}"""


@pytest.fixture
def viewer(figure_eight: Page, open_tab: OpenTab) -> Viewer:
    return open_tab(figure_eight.address).open_run()


def rings(viewer: Viewer) -> dict[str, str]:
    """Everything that Tab leads to, and how its ring is seen."""
    wanted = viewer.page.evaluate(REACHABLE)
    reached: dict[str, str] = {}
    for _ in wanted:
        viewer.page.keyboard.press("Tab")
        name, ring = viewer.page.evaluate(FOCUSED)
        reached[name] = ring
    assert set(wanted) == set(reached)
    return reached


def test_tab_leads_to_every_control_and_each_has_a_whole_ring(viewer: Viewer):
    found = rings(viewer)
    assert {name: ring for name, ring in found.items() if ring != "whole"} == {}
    assert len(found) > 20


@pytest.mark.parametrize("width", [1280, 400])
def test_rings_are_whole_in_a_list_that_scrolls(many: Page, open_tab: OpenTab, width: int):
    viewer = open_tab(many.address, viewport={"width": width, "height": 800}).open_run()
    found = rings(viewer)
    assert {name: ring for name, ring in found.items() if ring != "whole"} == {}
    assert "events-list" in found


def test_the_whole_tour_goes_by_keys_alone(viewer: Viewer):
    press = viewer.page.keyboard.press
    play, follow = viewer.page.locator("#play"), viewer.page.locator("#follow")
    expect(play).to_have_accessible_name("Pause")
    press(" ")
    expect(play).to_have_accessible_name("Play")
    press("Home")
    viewer.wait_for_text("road", f"epoch {TESTED[-1]}, step 0")
    press("ArrowRight")
    press("ArrowRight")
    viewer.wait_for_text("road", "step 2")
    press("ArrowLeft")
    viewer.wait_for_text("road", "step 1")
    press("End")
    viewer.wait_for_text("road", f"step {LAST_STEP}")
    press("Shift+ArrowLeft")
    viewer.wait_for_text("road", f"epoch {TESTED[-2]}, step 0")
    expect(follow).to_have_attribute("aria-pressed", "false")
    press("Shift+ArrowLeft")
    viewer.wait_for_text("road", f"epoch {TESTED[-3]}, step 0")
    press("Shift+ArrowRight")
    viewer.wait_for_text("road", f"epoch {TESTED[-2]}, step 0")
    press("f")
    viewer.wait_for_text("road", f"epoch {TESTED[-1]}, step 0")
    expect(follow).to_have_attribute("aria-pressed", "true")
    before = viewer.picture("road")
    press(" ")
    viewer.wait_for_change("road", before)


def test_a_run_is_chosen_compared_and_hidden_by_keys(viewer: Viewer):
    viewer.look_button("decay").focus()
    viewer.page.keyboard.press("Enter")
    viewer.wait_for_text("road", "FIRL_D")
    viewer.compare_button("consensus.seed-1").focus()
    viewer.page.keyboard.press(" ")
    viewer.wait_for_text("road", "; FIRL_C")
    viewer.row("decay").get_by_role("checkbox").focus()
    viewer.page.keyboard.press(" ")
    viewer.wait_for("() => !document.getElementById('curves').ariaLabel.includes('FIRL_D')")
    expect(viewer.page.locator("#play")).to_have_accessible_name("Pause")  # it plays on


def test_the_crosshair_walks_over_a_chart_by_keys_and_leaves_the_vehicles_alone(viewer: Viewer):
    viewer.pause()
    road, read = viewer.picture("road"), viewer.page.locator("#curves-readout li")
    viewer.page.locator("#curves").focus()
    viewer.page.keyboard.press("Home")
    expect(read.first).to_have_text("epoch 0")
    viewer.page.keyboard.press("ArrowRight")
    expect(read.first).to_have_text("epoch 2")
    expect(read).to_have_count(3)  # and the values of two methods
    viewer.page.keyboard.press("Escape")
    expect(read.first).to_be_hidden()
    assert viewer.picture("road") == road


def test_a_question_mark_opens_the_help_and_escape_leads_back(viewer: Viewer):
    sheet, back = viewer.page.locator("#help-sheet"), viewer.look_button("decay")
    back.focus()
    viewer.page.keyboard.press("?")
    expect(sheet).to_be_visible()
    expect(sheet).to_be_focused()
    keys = {key.inner_text() for key in sheet.locator("kbd").all()}
    assert keys == {"space", "←", "→", "shift", "Home", "End", "f", "?", "Esc"}
    viewer.page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(back).to_be_focused()


def test_a_question_mark_in_the_filter_is_text(many: Page, open_tab: OpenTab):
    viewer = open_tab(many.address).open_run()
    viewer.page.locator("#filter").press("?")
    expect(viewer.page.locator("#filter")).to_have_value("?")
    expect(viewer.page.locator("#help-sheet")).to_be_hidden()


def test_help_and_explanations_open_and_close_by_keys(viewer: Viewer):
    for button in viewer.page.locator("button[popovertarget]:visible").all():
        sheet = viewer.page.locator(f"#{button.get_attribute('popovertarget')}")
        button.focus()
        viewer.page.keyboard.press("Enter")
        expect(sheet).to_be_visible()
        viewer.page.keyboard.press("Escape")
        expect(sheet).to_be_hidden()
