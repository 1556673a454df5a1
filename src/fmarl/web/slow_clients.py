"""Viewers that take nothing any more: found by what waits for them, and cut off.

Nothing is buffered for a viewer beyond one chunk, but a connection whose other end stopped reading
would stay open for ever: to the kernel it is alive.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

STALLED_SECONDS = 15.0
LOOK_SECONDS = 1.0


@runtime_checkable
class Transport(Protocol):
    """What of asyncio's transports is used here."""

    def get_write_buffer_size(self) -> int:
        """Bytes that wait to be taken."""
        ...

    def abort(self) -> None:
        """Close at once, and drop what waits."""
        ...


class Patience:
    """Remembers since when each connection has had the same bytes waiting."""

    def __init__(self, seconds: float = STALLED_SECONDS) -> None:
        self._seconds = seconds
        self._waiting: dict[Transport, tuple[int, float]] = {}

    def look(self, transports: Iterable[Transport], now: float) -> list[Transport]:
        """Those to cut off: whose bytes have waited too long, none of them taken meanwhile."""
        sizes = {one: one.get_write_buffer_size() for one in transports}
        before = self._waiting
        self._waiting = {}
        for one, size in sizes.items():
            size_before, since = before.get(one, (size, now))
            if size > 0:
                self._waiting[one] = (size, since if size == size_before else now)
        return [one for one, (_, since) in self._waiting.items() if now - since >= self._seconds]


async def cut_off_stalled(connections: Iterable) -> None:
    """Look at a server's connections again and again, until cancelled."""
    patience = Patience()
    while True:
        open_ones = [one.transport for one in list(connections) if one.transport is not None]
        for transport in patience.look(open_ones, time.monotonic()):
            transport.abort()
        await asyncio.sleep(LOOK_SECONDS)
