"""Stopping a run from outside: the first signal asks, the second insists."""

import signal
import threading
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """Remembers that a signal has asked the run to end after the current slot. Use in a `with`.

    Only the main thread can hear signals; elsewhere this does nothing. A second signal raises
    `KeyboardInterrupt` at once; the last checkpoint is then what remains.
    """

    requested = False
    """Whether to end."""
    signal: int | None = None
    """Number of the signal that came, if one did."""

    @property
    def exit_code(self) -> int:
        """What a shell expects of a program ended by that signal."""
        return 128 + (self.signal or 0)

    def __enter__(self) -> "Stop":
        heard = threading.current_thread() is threading.main_thread()
        self._before = {number: signal.getsignal(number) for number in SIGNALS} if heard else {}
        for number, handler in self._before.items():
            if handler is not signal.SIG_IGN:  # such as under nohup
                signal.signal(number, self._hear)
        return self

    def __exit__(self, *problem: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested, self.signal = True, number
