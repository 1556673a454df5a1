"""Viewers that do not read cost next to nothing, hold up nobody, and are cut off."""

import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from e2e.page import Page, served
from fmarl.engine.run import train
from unit.engine.small_experiments import toy

STALLED = 200
LINES = 40_000
"""About 20 MB of events: more than all buffers of a connection hold."""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A run with a long story."""
    root = tmp_path_factory.mktemp("long")
    whole = train(toy(), root / "whole").folder
    story = Path(shutil.copytree(whole, root / "runs" / "story"))
    lines = (story / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    [*_, last] = (line for line in lines if b'"kind":"epoch"' in line)
    (story / "metrics.jsonl").write_bytes(b"".join(lines) + last * LINES)
    return root / "runs"


def stall(page: Page) -> socket.socket:
    """A viewer that asks and then reads nothing."""
    viewer = socket.socket()
    viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    viewer.connect(("127.0.0.1", page.port))
    viewer.sendall(f"GET /stream HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode())
    return viewer


def megabytes(page: Page) -> float:
    status = Path(f"/proc/{page.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1000


def hear_the_story(page: Page) -> int:
    """How many lines a viewer that reads is told."""
    heard = 0
    with httpx.stream("GET", page.address + "stream", timeout=60) as stream:
        for line in stream.iter_lines():
            heard += line.count('"kind":')
            if heard > LINES:
                return heard
    return heard


@pytest.mark.long
def test_two_hundred_stalled_viewers_are_not_buffered_for_and_hold_up_nobody(place: Path):
    with served(place) as page, ExitStack() as stack:
        assert hear_the_story(page) > LINES
        before = megabytes(page)
        for _ in range(STALLED):
            stack.enter_context(stall(page))
        assert hear_the_story(page) > LINES
        assert megabytes(page) - before < STALLED * 0.5  # the story has 20 MB for each


@pytest.mark.long
def test_a_stalled_viewer_is_cut_off(place: Path):
    with served(place) as page:
        assert hear_the_story(page) > LINES
        before = min(counted_for_a_while(page))  # the viewer before may still be leaving
        with stall(page):
            until(lambda: connections(page) > before)
            until(lambda: connections(page) == before)


def connections(page: Page) -> int:
    """Sockets that the server has open."""
    files = Path(f"/proc/{page.process.pid}/fd").iterdir()
    return sum(os.readlink(file).startswith("socket:") for file in files)


def counted_for_a_while(page: Page) -> Iterator[int]:
    for _ in range(20):
        yield connections(page)
        time.sleep(0.1)


def until(holds: Callable[[], bool]) -> None:
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("not within two minutes")
