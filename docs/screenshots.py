"""The pictures of the live page in README and docs, taken of real runs by a real browser.

python docs/screenshots.py [DEMO_FOLDER], with a folder that `fmarl demo` has filled; without one it
is made first. The browser's clock is ours, so the same runs give the same pictures.
"""

import io
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from fmarl.cli.demo import METHODS
from fmarl.web.server import PageProcess

IMAGES = Path(__file__).parent / "images"
MERGE = "merge --method consensus --graph complete --learning-rate 1e-3 --num-epochs 20"
TEST_EVERY = 5
"""Epochs between those that can be replayed, as the demo has it."""
COLOURS = 256
"""The page is flat colours and one scale of speeds: a palette makes files a quarter as large."""
MOMENT_MS, MOST_MOMENTS = 16, 500
"""As often as the page draws under our clock; all times are whole moments."""
REST_MS, PULSE_MS = 125 * MOMENT_MS, 78 * MOMENT_MS
"""Until no message is on its way; from the choice of an epoch until some of each kind are."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """What is to be seen, by whom."""

    name: str
    focus: str
    epoch: int
    step: int
    beside: str = ""
    scheme: str = "light"
    width: int = 1280
    height: int = 800
    scale: float = 1.5


PICTURES = [
    Picture(name="page", focus="firl-c", epoch=35, step=474),
    Picture(name="page-dark", focus="firl-c", beside="irl", epoch=35, step=474, scheme="dark"),
    Picture(name="page-narrow", focus="firl-c", epoch=35, step=474, width=400, height=860, scale=2),
]
MERGE_PICTURE = Picture(name="page-merge", focus="merge", epoch=15, step=800)


def main(words: Sequence[str]) -> None:
    """Make the runs that are missing, and take all pictures."""
    with TemporaryDirectory() as scratch, sync_playwright() as playwright:
        demo = Path(words[0]) if words else Path(scratch) / "demo"
        if not words:
            fmarl("demo", "--no-page", "--out", demo)
        tests = ["--test-every", TEST_EVERY, "--test-repetitions", 1]
        fmarl("train", *MERGE.split(), *tests, "--out", Path(scratch) / "merge")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        with PageProcess([demo / name for name in METHODS]) as page:
            for picture in PICTURES:
                take(browser, page.address, picture)
        with PageProcess([Path(scratch) / "merge"]) as page:
            take(browser, page.address, MERGE_PICTURE)
        browser.close()


def fmarl(*words: str | int | Path) -> None:
    """Run a command of fmarl."""
    subprocess.run([sys.executable, "-m", "fmarl", *map(str, words)], check=True)


def take(browser: Browser, address: str, picture: Picture) -> None:
    """Look at one moment of a run, and keep what is seen."""
    page = browser.new_page(
        viewport={"width": picture.width, "height": picture.height},
        color_scheme="dark" if picture.scheme == "dark" else "light",
        device_scale_factor=picture.scale,
    )
    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.goto(address)
    go_to(page, picture)
    path = IMAGES / f"{picture.name}.png"
    keep(page.screenshot(animations="disabled"), path)
    page.context.close()
    sys.stdout.write(f"{path}: {path.stat().st_size / 1000:.0f} kB\n")


def go_to(page: Page, picture: Picture) -> None:
    """The run, the epoch and the step of a picture, paused, with its messages on their way."""
    row = "#picker li[data-run='{}']"
    until(page, f"document.querySelector(`{row.format(picture.focus)}`)")
    page.locator(row.format(picture.focus)).get_by_role("button", name="Look at").click()
    if picture.beside:
        page.locator(row.format(picture.beside)).get_by_role("button", name="Compare").click()
    until(page, "road.ariaLabel.includes(', step ')")
    page.get_by_role("button", name="Pause").click()
    for epoch, rest in [(picture.epoch, 0), (0, REST_MS), (picture.epoch, 0)]:  # once to load it
        page.locator("#epoch").fill(str(epoch // TEST_EVERY))
        until_at(page, picture, epoch, 0)
        page.clock.run_for(rest)
    page.locator("#step").fill(str(picture.step))
    page.locator("h1").click()  # nothing is pointed at, nothing has the focus
    page.clock.run_for(PULSE_MS)
    until_at(page, picture, picture.epoch, picture.step)


def until_at(page: Page, picture: Picture, epoch: int, step: int) -> None:
    """Wait until every road of a picture shows this moment."""
    roads = 2 if picture.beside else 1
    until(page, f"road.ariaLabel.split('epoch {epoch}, step {step}').length === {roads + 1}")


def until(page: Page, holds: str) -> None:
    """Let the page's time pass until something holds."""
    for _ in range(MOST_MOMENTS):
        if page.evaluate(f"() => Boolean({holds})"):
            return
        page.clock.run_for(MOMENT_MS)
    raise TimeoutError(f"the page never came to: {holds}")


def keep(content: bytes, path: Path) -> None:
    """Write a picture in a palette of its own."""
    with Image.open(io.BytesIO(content)) as image:
        covered = Image.Quantize.MAXCOVERAGE  # so that colours of few pixels, as of cars, stay true
        flat = image.convert("RGB").quantize(COLOURS, covered, kmeans=1, dither=Image.Dither.NONE)
        flat.save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
