"""A real browser, real runs and real servers, shared by all tests of a worker where they can be."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser.recordings import record_all, shared_folder
from browser.viewer import OpenTab, Serve, Start, Viewer
from e2e.fmarl_command import fmarl_command
from e2e.page import Page, served

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WIDE = {"width": 1280, "height": 800}


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Debian's Chromium; nothing is trained for tests that can not be run."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium")
    return found


# Of this package and not of the session: as long as Playwright runs, no test of this process can
# start an event loop of its own, and tests elsewhere do.
@pytest.fixture(scope="package")
def chromium(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves places until the test is over."""
    with ExitStack() as stack:
        yield lambda *words: stack.enter_context(served(*words))


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts commands, which are killed when the test is over if they have not ended by then."""
    with ExitStack() as stack:

        def run(*words: object) -> subprocess.Popen[str]:
            command = fmarl_command(*map(str, words))
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield run


# After `serve` and `start`: tabs are closed before their server ends, so that none reports it.
@pytest.fixture
def open_tab(chromium: Browser, serve: Serve, start: Start) -> Iterator[OpenTab]:
    """Opens tabs, each of a new visitor; in the end none of them may have reported a problem."""
    viewers = []

    def visit(address: str, **wishes: Any) -> Viewer:
        context = chromium.new_context(**{"viewport": WIDE, "color_scheme": "light"} | wishes)
        viewers.append(Viewer(context, address))
        return viewers[-1]

    yield visit
    for viewer in viewers:
        viewer.wait_frames(1)  # the browser's events are handled only while it is asked something
        problems = viewer.problems
        viewer.page.context.close()
        assert problems == []


@pytest.fixture(scope="session")
def recorded(chromium_path: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of all runs that are only looked at."""
    with shared_folder(tmp_path_factory, "recorded") as place:
        if not place.exists():
            record_all(place)
    return place


@pytest.fixture(scope="session")
def figure_eight(recorded: Path) -> Iterator[Page]:
    """Two seeds of FIRL_C and one run of FIRL_D on the Figure Eight."""
    with served(recorded / "eight") as page:
        yield page


@pytest.fixture(scope="session")
def other_worlds(recorded: Path) -> Iterator[Page]:
    """A Merge, and a toy world without a road."""
    with served(recorded / "others") as page:
        yield page


@pytest.fixture(scope="session")
def many(recorded: Path) -> Iterator[Page]:
    """So many runs that their list scrolls, of which hardly anything but the folder tells some."""
    with served(recorded / "many") as page:
        yield page
