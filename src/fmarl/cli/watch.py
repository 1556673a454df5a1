"""`fmarl watch`: see runs in a browser, while they train and afterwards."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import tyro

from fmarl.cli.output import print_lines
from fmarl.errors import require
from fmarl.web.run_registry import require_places
from fmarl.web.server import HOST, address_of, listen, make_token, serve

RUNS = Path("runs")


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Serve a page on which runs are seen: roads, curves, messages and bytes. Ctrl-C ends it.

    Runs are read from their folders, so it does not matter whether they train, have ended, or were
    made on another machine.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Folders of runs, or folders that hold runs; without any, runs/."""
    port: int | None = None
    """Port to listen on, 0 for any that is free; without it 8765, or the next that is free."""
    host: str = HOST
    """Address to listen on. Anything but 127.0.0.1 lets others connect: they need a token."""

    def run(self) -> int:
        port = self.port
        require(port is None or 0 <= port < 65536, f"--port {port}", "0 to 65535", "Leave it out.")
        require_places(self.runs)
        with listen(self.host, port) as listener:
            token = make_token(self.host)
            print_lines(f"page: {address_of(listener, token)}  (Ctrl-C ends it)")
            with suppress(KeyboardInterrupt):  # the way to end it
                serve(listener, self.runs or [RUNS], token)
        return 0
