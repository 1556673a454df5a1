"""A log that every viewer reads at its own pace."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from fmarl.web.event_stream import CHUNK_BYTES, EventStream
from fmarl.web.run_registry import RunRegistry
from fmarl.web.tail import ServerEvent


async def take(events: AsyncIterator[bytes], wanted: int) -> list[bytes]:
    """So many events, in whatever chunks they come; first the server says when to try again."""
    assert (await anext(events)).startswith(b"retry: ")
    heard = b""
    while heard.count(b"\n\n") < wanted:
        heard += await anext(events)
    return heard.split(b"\n\n")[:wanted]


def number_of(event: bytes) -> str:
    return event.split(b"\n")[0].removeprefix(b"id: ").decode()


def test_who_comes_late_hears_everything_and_who_comes_back_the_rest(tmp_path: Path):
    async def scenario() -> None:
        feed = EventStream(RunRegistry([tmp_path]))
        feed._add([ServerEvent("lines", {"number": number}) for number in range(4)])
        heard = await take(feed.events(""), 5)
        assert [b"hello" in heard[0], b'{"number":3}' in heard[4]] == [True, True]
        again = await take(feed.events(number_of(heard[2])), 2)
        assert again == heard[3:]

    asyncio.run(scenario())


def test_numbers_of_another_server_or_of_nobody_start_from_the_beginning(tmp_path: Path):
    async def scenario() -> None:
        feed = EventStream(RunRegistry([tmp_path]))
        for last in ("deadbeef-3", "x", "-", "1" * 500, "deadbeef-" + "9" * 500):
            [first] = await take(feed.events(last), 1)
            assert b"event: hello" in first

    asyncio.run(scenario())


def test_a_number_that_has_not_been_given_out_yet_waits_for_what_comes(tmp_path: Path):
    async def scenario() -> None:
        feed = EventStream(RunRegistry([tmp_path]))
        [hello] = await take(feed.events(""), 1)
        boot = number_of(hello).split("-")[0]
        waiting = asyncio.create_task(take(feed.events(f"{boot}-99"), 1))
        await asyncio.sleep(0)
        feed._add([ServerEvent("run", {"run": "a"})])
        assert b"event: run" in (await waiting)[0]

    asyncio.run(scenario())


def test_a_long_log_comes_in_chunks_of_whole_events(tmp_path: Path):
    async def scenario() -> None:
        feed = EventStream(RunRegistry([tmp_path]))
        feed._add([ServerEvent("lines", {"text": "x" * 1000}) for _ in range(500)])
        events, sizes = feed.events(""), []
        while sum(sizes) < 500 * 1000:
            chunk = await anext(events)
            assert chunk.endswith(b"\n\n")
            sizes.append(len(chunk))
        assert max(sizes) < CHUNK_BYTES + 2000

    asyncio.run(scenario())


def test_what_happens_in_the_folder_is_heard(tmp_path: Path):
    async def scenario() -> None:
        feed = EventStream(RunRegistry([tmp_path]))
        following = asyncio.create_task(feed.follow())
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "run.json").write_text("{}")
        heard = await take(feed.events(""), 2)
        following.cancel()
        assert b'"state":"damaged"' in heard[1]

    asyncio.run(scenario())
