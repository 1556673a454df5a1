"""A real browser, real runs and real servers, shared by the tests of a file where they can be."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser.recordings import made_once, record_all
from browser.viewer import Look, Serve, Start, Viewer
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
def program() -> str:
    """Debian's Chromium; nothing is trained for tests that can not be run."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium")
    return found


# One per file: as long as Playwright runs, no other test of this process can start an event loop.
@pytest.fixture(scope="module")
def chromium(program: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
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


# After `serve` and `start`: tabs are closed before what they look at ends, and complain of nothing.
@pytest.fixture
def look(chromium: Browser, serve: Serve, start: Start) -> Iterator[Look]:
    """Opens tabs, each of a new visitor; in the end none of them may have complained."""
    viewers = []

    def visit(address: str, **wishes: Any) -> Viewer:
        context = chromium.new_context(**{"viewport": WIDE, "color_scheme": "light"} | wishes)
        viewers.append(Viewer(context, address))
        return viewers[-1]

    yield visit
    for viewer in viewers:
        viewer.screens(1)  # what the browser has to say is heard only while it is spoken to
        complaints = viewer.complaints
        viewer.page.context.close()
        assert complaints == []


@pytest.fixture(scope="session")
def recorded(program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of all runs that are only looked at."""
    with made_once(tmp_path_factory, "recorded") as place:
        if not place.exists():
            record_all(place)
    return place


@pytest.fixture(scope="module")
def eight(recorded: Path) -> Iterator[Page]:
    """Two seeds of FIRL_C and one run of FIRL_D on the Figure Eight."""
    with served(recorded / "eight") as page:
        yield page


@pytest.fixture(scope="module")
def others(recorded: Path) -> Iterator[Page]:
    """A Merge, and a toy world without a road."""
    with served(recorded / "others") as page:
        yield page
