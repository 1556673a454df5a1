"""Serving the page: in this process (`fmarl watch`), or beside a command that trains."""

import asyncio
import ipaddress
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from fmarl.errors import BadInput, require
from fmarl.web.app import make_app
from fmarl.web.feed import LOOK_SECONDS
from fmarl.web.slow_clients import cut_off_stalled

HOST, PORT = "127.0.0.1", 8765
PORTS_TRIED = 20
"""Where the usual port is taken, as by another run's page, one of the next ones will do."""
MOST_CONNECTIONS = 400


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


def is_local(host: str) -> bool:
    """Whether only this machine can connect."""
    return host == "localhost" or ipaddress.ip_address(host).is_loopback


def make_token(host: str) -> str:
    """What viewers must show where others can connect; empty where nobody can."""
    return "" if is_local(host) else secrets.token_urlsafe(18)


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


class PageBeside:
    """The page in a process of its own, for as long as a command trains. Use it in a `with`."""

    def __init__(self, places: Sequence[Path]) -> None:
        with listen() as listener:
            self.address = address_of(listener)
            words = [sys.executable, "-m", "fmarl.web", str(listener.fileno()), *map(str, places)]
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, pass_fds=[listener.fileno()], start_new_session=True
            )

    def wait(self) -> None:
        """Wait until it ends, as it does when it can not go on."""
        self._process.wait()

    def close(self) -> None:
        """End it, when viewers have heard the end: nobody holds its standard input any more."""
        assert self._process.stdin is not None
        time.sleep(2 * LOOK_SECONDS)
        self._process.stdin.close()
        self._process.wait()

    def __enter__(self) -> "PageBeside":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def _family(host: str) -> socket.AddressFamily:
    try:
        return socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        require(host == "localhost", f"--host {host!r:.60}", "an address", "Use 127.0.0.1.")
        return socket.AF_INET
