"""Serving the page: in this process (`fmarl watch`), or beside a command that trains.

Then it is `python -m fmarl.web.server LIFELINE SOCKET PLACE…`. The socket is inherited, so that the
command can say at once where the page is.
"""

import asyncio
import ipaddress
import secrets
import signal
import socket
import subprocess
import time
from asyncio import WriteTransport
from collections.abc import Iterable, Sequence
from pathlib import Path

import uvicorn

from fmarl.child_process import ChildProcess, bind_to_parent
from fmarl.errors import BadInput, require
from fmarl.web.app import make_app
from fmarl.web.event_stream import LOOK_SECONDS

HOST, PORT = "127.0.0.1", 8765
PORTS_TRIED = 20
"""Where the usual port is taken, as by another run's page, one of the next ones will do."""
MOST_CONNECTIONS = 400
STALLED_SECONDS = 15.0
"""A viewer that has taken nothing for so long is cut off. Nothing is buffered for it beyond one
chunk, but to the kernel a connection whose other end stopped reading is alive for ever."""


def listen(host: str = HOST, port: int | None = None) -> socket.socket:
    """A socket that viewers can connect to; without a port, the usual one or one of the next."""
    wanted = range(PORT, PORT + PORTS_TRIED) if port is None else [port]
    problem = ""
    for number in wanted:
        listener = socket.socket(_family(host), socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, number))
            listener.listen(128)
            return listener
        except (OSError, OverflowError) as error:
            listener.close()
            problem = getattr(error, "strerror", None) or str(error)
    raise BadInput(f"--port {port or PORT} on {host} can not be used: {problem}. Use --port 0.")


def make_token(host: str) -> str:
    """What viewers must show where others can connect; empty where nobody can."""
    is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    return "" if is_local else secrets.token_urlsafe(18)


def address_of(listener: socket.socket, token: str = "") -> str:
    """Where the page is."""
    [host, port, *_] = listener.getsockname()
    shown = socket.gethostname() if ipaddress.ip_address(host).is_unspecified else host
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")


def serve(listener: socket.socket, places: Sequence[Path], token: str = "") -> None:
    """Serve the page until a signal comes."""
    port = listener.getsockname()[1]
    ours = [f"{name}:{port}" for name in (HOST, "localhost", "[::1]")]
    config = uvicorn.Config(
        make_app(places, ours, token),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=1,
        http="h11",
        ws="none",
    )
    asyncio.run(_serve(uvicorn.Server(config), listener))


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    cutting = asyncio.create_task(cut_off_stalled(server.server_state.connections))
    try:
        await server.serve(sockets=[listener])
    finally:
        cutting.cancel()


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
        await asyncio.sleep(1.0)


class PageProcess:
    """The page in a process that ends with the command that trains. Use it in a `with`."""

    def __init__(self, places: Sequence[Path]) -> None:
        with listen() as listener:
            self.address = address_of(listener)
            descriptor = listener.fileno()
            words = (str(descriptor), *map(str, places))
            self._child = ChildProcess(
                __name__, *words, pass_fds=[descriptor], stdin=subprocess.DEVNULL
            )

    def wait(self) -> None:
        """Wait until it ends by itself, as it does when it can not serve."""
        self._child.process.wait()

    def __enter__(self) -> "PageProcess":
        return self

    def __exit__(self, *problem: object) -> None:
        time.sleep(2 * LOOK_SECONDS)  # until viewers have heard the end
        self._child.kill()


def _family(host: str) -> socket.AddressFamily:
    try:
        return socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        require(host == "localhost", f"--host {host!r:.60}", "an address", "Use 127.0.0.1.")
        return socket.AF_INET


def main() -> None:
    """In the child: serve until killed, for nothing here needs to be finished or saved."""
    descriptor, *places = bind_to_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command, which then ends us
    with socket.socket(fileno=int(descriptor)) as listener:
        serve(listener, [Path(place) for place in places])


if __name__ == "__main__":
    main()
