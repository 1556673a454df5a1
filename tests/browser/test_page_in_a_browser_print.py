"""The page on paper: dark ink on white from either theme, one sheet, and nothing stretched."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ViewportSize, expect

from browser.viewer import OpenTab, Viewer
from e2e.page import Page

LISTEN = """() => addEventListener("beforeprint", () => {
  const { color, backgroundColor } = getComputedStyle(document.body);
  const pictures = ["curves", "gradient"].map((id) => document.getElementById(id).toDataURL());
  window.printed = { ink: color, paper: backgroundColor, pictures };
})"""
"""Heard after the page's own listener: what it made ready for the printer."""
LAID_OUT = """() => [...document.querySelectorAll("canvas")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.id, one.width, one.height, one.clientWidth, one.clientHeight])"""
SHEET: ViewportSize = {"width": 1047, "height": 718}
"""A4 in landscape without its margins, in CSS pixels."""
RATIO = 0.01
"""By which a picture may be off in its proportions: rounding to pixels."""


def printed(viewer: Viewer, path: Path) -> dict[str, Any]:
    """Print to a file; what the page looked like then, and how many sheets there are."""
    viewer.page.evaluate(LISTEN)
    viewer.page.pdf(path=path, prefer_css_page_size=True)
    found = viewer.page.evaluate("() => window.printed")
    return {**found, "sheets": len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))}


def test_both_themes_print_the_same_in_dark_ink_on_white(
    figure_eight: Page, open_tab: OpenTab, tmp_path: Path
):
    found = []
    for scheme in ("dark", "light"):
        viewer = open_tab(figure_eight.address, color_scheme=scheme).open_run()
        viewer.look_at("decay")
        before = viewer.picture("curves")
        found.append(printed(viewer, tmp_path / f"{scheme}.pdf"))
        assert viewer.picture("curves") == before  # on the screen all is as it was
    dark, light = found
    assert dark == light
    assert dark["paper"] == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", dark["ink"]))) < 60
    assert dark["sheets"] == 1


@pytest.mark.parametrize("width", [1280, 400])
def test_charts_keep_their_proportions_on_paper(figure_eight: Page, open_tab: OpenTab, width: int):
    viewer = open_tab(figure_eight.address, viewport={"width": width, "height": 800}).open_run()
    viewer.pause()
    viewer.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    painted = {name: across / down for name, across, down, *_ in viewer.page.evaluate(LAID_OUT)}
    viewer.page.emulate_media(media="print")
    viewer.page.set_viewport_size(SHEET)
    placed = {name: wide / high for name, _, _, wide, high in viewer.page.evaluate(LAID_OUT)}
    assert placed.keys() == {"road", "curves", "graph", "gradient"}
    for name, ratio in placed.items():
        assert painted[name] == pytest.approx(ratio, rel=RATIO), name
    [wide, window] = viewer.page.evaluate("() => [document.body.scrollWidth, innerWidth]")
    assert wide <= window
    expect(viewer.page.locator(".scrubber")).to_be_hidden()


def test_a_report_prints_in_dark_ink_on_white_and_keeps_words_beside_their_tables(
    open_tab: OpenTab,
):
    viewer = open_tab(REPORT.as_uri(), color_scheme="dark").open()
    assert viewer.page.evaluate(SCHEME) == ["dark", "auto"]
    viewer.page.emulate_media(media="print", color_scheme="dark")
    assert viewer.page.evaluate(SCHEME) == ["light", "avoid"]


REPORT = Path(__file__).parents[2] / "results" / "paper" / "report.html"
SCHEME = """() => [getComputedStyle(document.documentElement).colorScheme,
  getComputedStyle(document.querySelector("figcaption")).breakInside]"""
