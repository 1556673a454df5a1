"""A second signal ends the program at once, whatever it is busy with.

The first one asks: a run ends after its slot and saves itself (`engine.signals.Stop`), and other
commands stop. Handlers in Python wait for native code, which may compute for minutes, so signals
are counted by a thread that the system's own handler wakes.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_SECONDS = 1.0
"""Time after the second signal to give back the terminal, and to end children."""
SHOW_CURSOR = b"\x1b[?25h"


@contextmanager
def ending_at_second_signal() -> Iterator[None]:
    """Watch signals in the body; in any thread but the main one, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_count, args=(reader,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)  # which ends the thread


def _count(reader: int) -> None:
    with os.fdopen(reader, "rb", buffering=0) as signals:
        asked = False
        while number := signals.read(1):
            if number[0] in ASKING:
                if asked:
                    threading.Timer(GRACE_SECONDS, _end, [number[0]]).start()
                asked = True


def _end(number: int) -> None:
    """End now. Children end with us: each holds a pipe that closes (`child_process`)."""
    if sys.__stdout__ is not None and sys.__stdout__.isatty():
        os.write(sys.__stdout__.fileno(), SHOW_CURSOR)
    os._exit(128 + number)
