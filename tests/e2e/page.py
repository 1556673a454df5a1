"""A real server of the page, in a process of its own, as `fmarl watch` starts it."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from e2e.fmarl_command import fmarl_command


@dataclass(frozen=True)
class Page:
    """A page that is being served."""

    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    def ask(self, request: bytes) -> bytes:
        """Send bytes as they are, and return the answer; nothing if the server hung up on them."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            try:
                connection.sendall(request)
                return b"".join(iter(lambda: connection.recv(65536), b""))
            except (ConnectionResetError, BrokenPipeError):
                return b""


@contextmanager
def served(*words: str | Path) -> Iterator[Page]:
    """Serve the page on any free port, until the body ends."""
    command = fmarl_command("watch", *map(str, words), "--port", "0")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        try:
            line = run.stdout.readline()
            yield Page(line.split()[1], run)
        finally:
            run.terminate()
