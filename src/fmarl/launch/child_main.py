"""`python -m fmarl.launch.child_main LIFELINE CORE WORDS…`: fmarl on one core, for one master.

It is the command line of fmarl, and can not outlive whoever holds the other end of the lifeline:
a run whose actor was killed would train on for hours, and nobody would fetch what it finds.
"""

import os
import runpy
import signal
import sys

from fmarl.child_process import die_with_parent


def main() -> None:
    """Bind this process to its master and to a core, and become fmarl."""
    _, lifeline, core, *words = sys.argv
    os.set_inheritable(int(lifeline), False)
    die_with_parent(int(lifeline))
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # all that Ray starts is deaf to Ctrl-C
    ours = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {ours[int(core) % len(ours)]})
    sys.argv = ["fmarl", *words]
    runpy.run_module("fmarl", run_name="__main__")


if __name__ == "__main__":
    main()
