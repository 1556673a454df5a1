"""What all viewers are told, once for all of them: a log of events that each reads at its pace.

A viewer is nothing but a place in the log. So one that is slow or gone costs nothing and holds up
nobody, and one that comes back goes on where it was.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable

import anyio.to_thread

from fmarl import __version__
from fmarl.records.events import EventCode
from fmarl.records.strict_json import encode_line
from fmarl.web.run_registry import RunRegistry
from fmarl.web.tail import ServerEvent

LOOK_SECONDS = 0.5
"""Between two looks at the folders."""
BEAT_SECONDS = 5.0
"""A sign of life where nothing happens, by which the dead are noticed."""
RETRY_MILLISECONDS = 1000
"""After which a viewer who lost the connection tries again."""
CHUNK_BYTES = 64 * 1024


class EventStream:
    """The log, and the task that adds to it."""

    def __init__(self, registry: RunRegistry) -> None:
        self.registry = registry
        self._log: list[bytes] = []
        self._boot = secrets.token_hex(4)
        self._more = asyncio.Event()
        kinds = {code: {"words": code.words, "severity": code.severity} for code in EventCode}
        self._add([ServerEvent("hello", {"version": __version__, "event_kinds": kinds})])

    async def follow(self) -> None:
        """Look at the folders again and again, in a thread, until cancelled."""
        while True:
            self._add(await anyio.to_thread.run_sync(self.registry.poll))
            await asyncio.sleep(LOOK_SECONDS)

    async def events(self, last_id: str) -> AsyncIterator[bytes]:
        """Server-sent events from the one after `last_id` on, or all of them, for ever."""
        place = self._place_after(last_id)
        yield b"retry: %d\n\n" % RETRY_MILLISECONDS
        while True:
            chunk, place = self._chunk(place)
            if chunk:
                yield chunk
                continue
            try:
                await asyncio.wait_for(self._more.wait(), BEAT_SECONDS)
            except TimeoutError:
                yield b": beat\n\n"

    def _add(self, events: Iterable[ServerEvent]) -> None:
        for event in events:
            number = f"{self._boot}-{len(self._log)}".encode()
            name, data = event.name.encode(), encode_line(event.data)
            self._log.append(b"id: %b\nevent: %b\ndata: %b\n" % (number, name, data))
        more, self._more = self._more, asyncio.Event()
        more.set()

    def _place_after(self, last_id: str) -> int:
        """A number of another boot means nothing here: the viewer hears all, and starts anew."""
        boot, _, number = last_id.rpartition("-")
        known = boot == self._boot and number.isdecimal() and len(number) < 12
        return min(int(number) + 1, len(self._log)) if known else 0

    def _chunk(self, place: int) -> tuple[bytes, int]:
        """Some whole events from a place on, and the place behind them."""
        parts, size = [], 0
        while place < len(self._log) and size < CHUNK_BYTES:
            parts.append(self._log[place])
            size += len(self._log[place])
            place += 1
        return b"".join(parts), place
