"""Start fmarl so that it hears signals, whoever started the tests.

Shells let background jobs ignore Ctrl-C, and what they start inherits that. Setting it right in a
`preexec_fn` would fork a process that has loaded JAX, so the new process does it itself.
"""

import sys

_HEARING = """
import runpy, signal
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("fmarl", run_name="__main__")
"""


def hearing(*words: str) -> list[str]:
    """The command line of fmarl with these words."""
    return [sys.executable, "-c", _HEARING, *words]
