"""A tab of a real browser that shows the page, and every problem that it reports."""

import re
import subprocess
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Locator,
    Request,
    Response,
    expect,
)

from e2e.page import Page

TIMEOUT_MS = 60_000
"""Machines are shared: this long means never."""
STILL_FRAMES = 30
"""Pictures of the screen for which something that stands must not change."""
WAIT_FOR = """arg => new Promise((met, missed) => {
  const holds = %s;
  const late = performance.now() + %d;
  const check = () => {
    if (holds(arg)) met();
    else if (performance.now() > late) missed(new Error(document.body.innerText));
    else requestAnimationFrame(check);
  };
  check();
})"""
"""Playwright's own waiting evaluates a string in the page, which the page's policy forbids."""
RECORD_VEHICLES = """(() => {
  const ours = CanvasRenderingContext2D.prototype;
  const { clearRect, roundRect } = ours;
  window.drawnVehicles = [];
  ours.clearRect = function (...given) {
    if (this.canvas.id === "road") window.drawnVehicles = [];
    return clearRect.apply(this, given);
  };
  ours.roundRect = function (...given) {
    const { e, f } = this.getTransform();
    if (this.canvas.id === "road") window.drawnVehicles.push([e, f]);
    return roundRect.apply(this, given);
  };
})()"""
"""Before the page's own code: remember where on the road rounded rectangles were drawn last."""
COUNT_PIXELS = """([id, colour]) => {
  const canvas = document.getElementById(id);
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height + 1];
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  context.fillStyle = colour;
  context.fillRect(0, canvas.height, 1, 1); // below the picture: what the colour is in numbers
  const { data } = context.getImageData(0, 0, copy.width, copy.height);
  const pixels = new Uint32Array(data.buffer);
  const wanted = pixels[canvas.width * canvas.height];
  return pixels.subarray(0, canvas.width * canvas.height).filter((one) => one === wanted).length;
}"""


class Viewer:
    """One tab. Everything that a page should not do is collected in `problems`."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        context.set_default_timeout(TIMEOUT_MS)
        expect.set_options(timeout=TIMEOUT_MS)
        self.address = address
        self.problems: list[str] = []
        self.requests: list[str] = []
        """Addresses of everything that was loaded."""
        self.page = context.new_page()
        self.page.add_init_script(RECORD_VEHICLES)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("request", self._on_request)
        self.page.on("requestfailed", self._on_failure)
        self.page.on("response", self._on_response)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text}")

    def _on_request(self, request: Request) -> None:
        self.requests.append(request.url)
        if urlsplit(request.url).netloc != urlsplit(self.address).netloc:
            self.problems.append(f"left the machine: {request.url}")

    def _on_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the tab itself, when it loads anew
            self.problems.append(f"failed: {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"refused: {response.url}: {response.status}")

    def open(self) -> "Viewer":
        """Go to the page, and wait for nothing but its markup and its scripts."""
        self.page.goto(self.address)
        return self

    def open_run(self) -> "Viewer":
        """Go to the page, and wait until it shows a run; a road with vehicles if it has one."""
        self.open()
        self.wait_for("() => document.documentElement.dataset.ready === '1'")
        self.wait_for(
            "() => document.body.dataset.road === 'false'"
            " || document.getElementById('road').ariaLabel.includes(', step ')"
        )
        return self

    def wait_for(self, condition: str, arg: Any = None) -> None:
        """Wait until a JavaScript function of `arg` is true; checked at each paint."""
        self.page.evaluate(WAIT_FOR % (condition, TIMEOUT_MS), arg)

    def wait_for_text(self, element: str, words: str) -> None:
        """Wait until an element, or what is said of a canvas, contains these words."""
        self.wait_for(
            "([id, words]) => { const found = document.getElementById(id);"
            " return (found.ariaLabel ?? found.innerText).includes(words); }",
            [element, words],
        )

    def wait_frames(self, count: int) -> None:
        """Wait until the screen was painted so many times."""
        self.page.evaluate(
            "left => new Promise((done) => {"
            " const next = () => (left-- > 0 ? requestAnimationFrame(next) : done()); next(); })",
            count,
        )

    def picture(self, canvas: str) -> str:
        """Every pixel of a canvas, as text to compare; everything asked for before is drawn."""
        self.wait_frames(2)
        return self.page.evaluate("id => document.getElementById(id).toDataURL()", canvas)

    def wait_for_change(self, canvas: str, before: str) -> None:
        """Wait until a canvas does not look as it did before."""
        self.wait_for(
            "([id, before]) => document.getElementById(id).toDataURL() !== before", [canvas, before]
        )

    def is_still(self, canvas: str) -> bool:
        """Whether a canvas stays as it is, for as long as everything that moves would have."""
        before = self.picture(canvas)
        self.wait_frames(STILL_FRAMES)
        return self.picture(canvas) == before

    def text_of(self, element: str) -> str:
        """What is said of a canvas to who does not see it, or the text of an element."""
        found = self.page.locator(f"#{element}")
        return found.get_attribute("aria-label") or found.inner_text()

    def pixels_of(self, canvas: str, colour: str) -> int:
        """How many pixels of a canvas have this very colour."""
        return self.page.evaluate(COUNT_PIXELS, [canvas, colour])

    def pixels_in(self, canvas: str) -> int:
        """How many pixels a canvas has."""
        size = self.page.evaluate(
            "id => { const canvas = document.getElementById(id);"
            " return [canvas.width, canvas.height]; }",
            canvas,
        )
        return size[0] * size[1]

    def drawn_vehicles(self) -> list[list[float]]:
        """Where vehicles were drawn last, in pixels of the canvas, in the order of drawing."""
        self.wait_frames(2)
        return self.page.evaluate("() => window.drawnVehicles")

    def row(self, run: str) -> Locator:
        """A run in the list of runs."""
        return self.page.locator(f"#picker li[data-run='{run}']")

    def look_button(self, run: str) -> Locator:
        """What puts a run into focus; its name also says how far it is."""
        return self.row(run).get_by_role("button", name="Look at")

    def compare_button(self, run: str) -> Locator:
        """What puts a run beside the one in focus, and takes it away again."""
        return self.row(run).get_by_role(
            "button", name=re.compile("^(Compare|Stop comparing) with")
        )

    def look_at(self, run: str) -> None:
        """Put a run into focus."""
        self.look_button(run).click()
        expect(self.look_button(run)).to_have_attribute("aria-pressed", "true")

    def pause(self) -> None:
        """Stop the replay where it is."""
        self.page.get_by_role("button", name="Pause").click()
        self.page.get_by_role("button", name="Play").wait_for()

    def scrub(self, recorded: Sequence[int], epoch: int, step: int) -> None:
        """Drag both sliders: to one of the recorded epochs, then to a step of it."""
        self.page.locator("#epoch").fill(str(recorded.index(epoch)))
        self.wait_for_text("road", f"epoch {epoch}, ")
        self.page.locator("#step").fill(str(step))
        self.wait_for_text("road", f"epoch {epoch}, step {step}")


OpenTab = Callable[..., Viewer]
"""Opens a tab on an address, for a visitor with these wishes."""
Serve = Callable[..., Page]
"""Serves the page with these words after `fmarl watch`."""
Start = Callable[..., subprocess.Popen[str]]
"""Starts fmarl with these words."""
