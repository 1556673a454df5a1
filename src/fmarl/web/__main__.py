"""The page beside a command that trains: `python -m fmarl.web DESCRIPTOR PLACE…`.

The socket is inherited, so that the command could say at once where the page is. It ends with the
command, however that dies: nobody holds its standard input any more.
"""

import os
import signal
import socket
import sys
import threading
from pathlib import Path

from fmarl.web.server import serve


def run() -> None:
    """Serve until standard input ends."""
    descriptor, *places = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command; it tells us
    threading.Thread(target=_end_with_the_command, daemon=True).start()
    with socket.socket(fileno=int(descriptor)) as listener:
        serve(listener, [Path(place) for place in places])


def _end_with_the_command() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # nothing here needs to be finished or saved


if __name__ == "__main__":
    run()
