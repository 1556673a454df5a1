"""The page itself: it fits its window, suits its visitor, loads little, and asks nobody else."""

import shutil
import sys
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from browser.viewer import OpenTab, Serve, Viewer
from e2e.page import Page

pytestmark = pytest.mark.long

FIRST_PAGE_BYTES = 200_000
OUTSIDE = """() => [...document.querySelectorAll("section, section *, header *, nav *")]
  .filter((one) => one.checkVisibility() && !one.closest("[popover], #picker, #events-list, svg"))
  .filter((one) => !one.matches(".unseen"))
  .filter((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return left < 0 || top < 0 || right > innerWidth + 0.5 || bottom > innerHeight + 0.5;
  })
  .map((one) => one.outerHTML.slice(0, 80))"""
CUT = """() => [...document.querySelectorAll("section, section div")]
  .filter((one) => one.checkVisibility())
  .filter((one) => one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.className} ${one.id} ${one.scrollHeight} > ${one.clientHeight}`)"""
SIDEWAYS = "() => [document.documentElement.scrollWidth, innerWidth]"


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1920, 1080)])
def test_everything_fits_on_one_screen(
    figure_eight: Page, open_tab: OpenTab, width: int, height: int
):
    viewer = open_tab(figure_eight.address, viewport={"width": width, "height": height}).open_run()
    assert viewer.page.get_by_role("region").count() == 5
    assert viewer.page.evaluate(OUTSIDE) == []
    assert viewer.page.evaluate(CUT) == []
    viewer.compare_button("decay").click()
    viewer.wait_for_text("road", "; FIRL_D")
    assert viewer.page.evaluate(OUTSIDE) == []
    assert viewer.page.evaluate(CUT) == []


def test_a_world_without_a_road_fits_on_one_screen(other_worlds: Page, open_tab: OpenTab):
    viewer = open_tab(other_worlds.address).open_run()
    viewer.look_at("toy")
    expect(viewer.page.get_by_role("region", name="Road")).to_be_hidden()
    assert viewer.page.evaluate(OUTSIDE) == []
    assert viewer.page.evaluate(CUT) == []


def test_a_narrow_window_is_never_scrolled_sideways(figure_eight: Page, open_tab: OpenTab):
    viewer = open_tab(figure_eight.address, viewport={"width": 400, "height": 800}).open_run()
    for panel in ("road", "curves", "graph", "gradient"):
        viewer.page.locator(f"#{panel}").scroll_into_view_if_needed()
        [wide, window] = viewer.page.evaluate(SIDEWAYS)
        assert wide <= window == 400
        assert viewer.page.locator(f"#{panel}").evaluate("(canvas) => canvas.clientWidth") > 150
    assert viewer.page.evaluate(CUT) == []


def test_dark_and_light_differ_and_the_choice_outlives_a_reload(
    figure_eight: Page, open_tab: OpenTab
):
    viewer = open_tab(figure_eight.address, color_scheme="dark").open_run()
    dark = colours(viewer)
    viewer.page.get_by_role("button", name="Change to light colours").click()
    expect(viewer.page.get_by_role("button", name="Change to dark colours")).to_be_visible()
    light = colours(viewer)
    assert all(one != other for one, other in zip(dark, light, strict=True))
    viewer.page.reload()
    viewer.wait_for("() => document.documentElement.dataset.ready === '1'")
    assert colours(viewer) == light
    assert colours(open_tab(figure_eight.address).open_run()) == light  # the system wants it so


def colours(viewer: Viewer) -> list[str]:
    """Of the page behind everything, and of the axes of the curves."""
    behind = viewer.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    return [behind, viewer.picture("curves")]


def test_it_is_painted_and_usable_before_any_run_has_arrived(figure_eight: Page, open_tab: OpenTab):
    viewer = open_tab(figure_eight.address)
    silence = "text/event-stream"
    viewer.page.route("**/stream", lambda route: route.fulfill(content_type=silence, body=""))
    viewer.open()
    viewer.wait_for("() => performance.getEntriesByName('first-contentful-paint').length === 1")
    painted = viewer.page.evaluate(
        "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    sys.stdout.write(f"first contentful paint after {painted:.0f} ms\n")
    expect(viewer.page.locator("#notice")).to_have_text("Connecting …")
    viewer.page.get_by_role("button", name="Help and keys").click()
    expect(viewer.page.locator("#help-sheet")).to_be_visible()
    assert not any("/runs/" in address for address in viewer.requests)


def test_a_run_that_begins_later_appears_by_itself(
    tmp_path: Path, recorded: Path, serve: Serve, open_tab: OpenTab
):
    viewer = open_tab(serve(tmp_path).address).open()
    viewer.wait_for_text("notice", "Waiting for a run")
    shutil.copytree(recorded / "others" / "toy", tmp_path / "late")
    viewer.wait_for("() => document.documentElement.dataset.ready === '1'")
    expect(viewer.row("late")).to_be_visible()
    expect(viewer.page.locator("#notice")).to_be_hidden()


def test_the_first_page_is_small_and_all_of_it_comes_from_here(
    figure_eight: Page, open_tab: OpenTab
):
    viewer = open_tab(figure_eight.address).open_run()
    loaded = viewer.page.evaluate(LOADED)
    assert {"/", "/static/main.js", "/static/css/layout.css"} <= loaded.keys()
    assert (
        0 < sum(size for path, size in loaded.items() if "/frames/" not in path) < FIRST_PAGE_BYTES
    )
    assert all(address.startswith(figure_eight.address) for address in viewer.requests)


LOADED = """() => Object.fromEntries(
  [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
    .map(({ name, transferSize }) => [new URL(name).pathname, transferSize]),
)"""


def test_the_address_with_the_token_works_and_does_not_keep_it(
    recorded: Path, serve: Serve, open_tab: OpenTab
):
    page = serve(recorded / "others", "--host", "0.0.0.0")
    address, _, token = page.address.partition("?token=")
    assert len(token) > 20
    viewer = open_tab(page.address).open_run()
    assert viewer.page.url == address
    assert httpx.get(f"http://127.0.0.1:{page.port}/").status_code == 403  # nobody else


def test_scripts_that_get_into_the_page_do_not_run(figure_eight: Page, open_tab: OpenTab):
    viewer = open_tab(figure_eight.address).open_run()
    viewer.page.evaluate(INJECT)
    viewer.wait_frames(2)
    assert viewer.page.title() == "fmarl: agents learning together"
    [problem] = viewer.problems
    assert "Content Security Policy" in problem
    viewer.problems.clear()  # this one was wanted, and shows that problems are noticed


INJECT = """() => {
  const script = document.createElement("script");
  script.textContent = "document.title = 'taken over'";
  document.body.append(script);
}"""
