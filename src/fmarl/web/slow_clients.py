"""Viewers that take nothing any more: found by what waits for them, and cut off.

Nothing is buffered for a viewer beyond one chunk, but a connection whose other end stopped reading
would stay open for ever: to the kernel it is alive.
"""

import asyncio
import time
from asyncio import WriteTransport
from collections.abc import Iterable

STALLED_SECONDS = 15.0
LOOK_SECONDS = 1.0


class StallTimer:
    """Remembers since when each connection has had the same bytes waiting."""

    def __init__(self, seconds: float = STALLED_SECONDS) -> None:
        self._seconds = seconds
        self._waiting: dict[WriteTransport, tuple[int, float]] = {}

    def stalled(self, transports: Iterable[WriteTransport], now: float) -> list[WriteTransport]:
        """Those whose bytes have waited too long, none of them taken meanwhile."""
        before, self._waiting = self._waiting, {}
        for one in transports:
            size = one.get_write_buffer_size()
            size_before, since = before.get(one, (size, now))
            if size > 0:
                self._waiting[one] = (size, since if size == size_before else now)
        return [one for one, (_, since) in self._waiting.items() if now - since >= self._seconds]


async def cut_off_stalled(connections: Iterable) -> None:
    """Look at a server's connections again and again, until cancelled."""
    timer = StallTimer()
    while True:
        open_ones = [one.transport for one in list(connections) if one.transport is not None]
        for transport in timer.stalled(open_ones, time.monotonic()):
            transport.abort()
        await asyncio.sleep(LOOK_SECONDS)
