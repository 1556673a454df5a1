"""A process that trains one run after another, as `cores.py` asks it to.

Loading JAX and compiling take longer than a short run does; here only the first run pays for them.

Each line of standard input has the words of a command. One that ends well is answered with a byte,
and the next may come; any other ends the process, with its exit code.
"""

import json
import os
import sys

from fmarl.cli import main

DONE = b"."


def serve() -> int:
    """Do as told until there is nothing left to do, or something went wrong."""
    answers = os.dup(sys.stdout.fileno())
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # words are not for the asker
    try:
        for line in sys.stdin:
            if code := main(json.loads(line)):
                return code
            os.write(answers, DONE)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(serve())
