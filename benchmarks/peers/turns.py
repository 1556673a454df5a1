"""The side of a script that is measured in turns with another.

It plays as many slots as each line of its standard input says, and answers with one line of JSON,
the CPU seconds that it took (`scripts.py` asks). With `--smoke` it plays one slot, unasked.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable


def serve(
    play: Callable[[int], None], cpu_seconds: Callable[[], float] = time.process_time
) -> None:
    """Play slots on request until standard input ends."""
    requests: Iterable[str] = ["1"] if "--smoke" in sys.argv else sys.stdin
    for line in requests:
        before = cpu_seconds()
        play(int(line))
        print(json.dumps({"cpu_seconds": cpu_seconds() - before}), flush=True)
