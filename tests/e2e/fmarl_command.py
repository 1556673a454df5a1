"""The command line of fmarl in a process with default signal handlers.

Shells let background jobs ignore Ctrl-C, and what they start inherits that. Setting it right in a
`preexec_fn` would fork a process that has loaded JAX, so the new process does it itself.
"""

import sys

_RUN_WITH_DEFAULT_SIGNALS = """
import runpy, signal
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("fmarl", run_name="__main__")
"""


def fmarl_command(*words: str) -> list[str]:
    return [sys.executable, "-c", _RUN_WITH_DEFAULT_SIGNALS, *words]
