"""What it costs a run to be watched: epochs per second with many viewers, and without.

Both are measured in turns in this one run, and the ratio is printed, because the machines are
shared. Viewers are real connections to `fmarl watch` that read everything they are told.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from _figures import parser

FMARL = [sys.executable, "-m", "fmarl"]
TARGET = 0.02
"""Training may slow down by less than this share."""
WORLD, SMOKE_WORLD = ["figure-eight"], ["toy-quadratic", "--steps-per-update", "20"]


def main() -> None:
    """Measure and print."""
    options = _options()
    with TemporaryDirectory() as scratch:
        folder = Path(scratch, "run")
        world = SMOKE_WORLD if options.smoke else WORLD
        train = [*FMARL, "train", *world, "--num-epochs", "100000", "--out", str(folder)]
        with (
            _started([*train, "--quiet"]),
            _started([*FMARL, "watch", scratch, "--port", "0"]) as page,
        ):
            assert page.stdout is not None
            address = urlsplit(page.stdout.readline().split()[1])
            _wait_for(folder / "metrics.jsonl", epochs=5)
            rates = [_turns(folder, page.pid, address.port, options) for _ in range(options.rounds)]
    _say(options, *(list(values) for values in zip(*rates, strict=True)))


def _turns(
    folder: Path, server: int, port: int | None, options: argparse.Namespace
) -> tuple[float, float, float]:
    """Epochs per second alone and watched, and the server's share of a core meanwhile."""
    alone = _rate(folder, options.seconds)
    words = [sys.executable, __file__, "--connect", str(port), "--viewers", str(options.viewers)]
    with _started(words) as viewers:
        assert viewers.stdout is not None
        viewers.stdout.readline()  # all are connected and have heard what there was
        before = _cpu_seconds(server)
        watched = _rate(folder, options.seconds)
        busy = (_cpu_seconds(server) - before) / options.seconds
    return alone, watched, busy


def _rate(folder: Path, seconds: float) -> float:
    """Epochs per second, from the time of one to the time of another."""
    first, since = _next_epoch(folder)
    time.sleep(seconds)
    last, until = _next_epoch(folder)
    return (last - first) / (until - since)


def _next_epoch(folder: Path) -> tuple[int, float]:
    """The epoch that ends next, and when it does."""
    epochs = _epochs(folder / "metrics.jsonl")
    while _epochs(folder / "metrics.jsonl") == epochs:
        time.sleep(0.002)
    return _epochs(folder / "metrics.jsonl"), time.monotonic()


def _epochs(metrics: Path) -> int:
    return metrics.read_bytes().count(b'"kind":"epoch"')


def _wait_for(metrics: Path, epochs: int) -> None:
    while not metrics.exists() or _epochs(metrics) < epochs:
        time.sleep(0.2)


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _started(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


async def _view(port: int, count: int) -> None:
    """Be so many viewers, until killed."""
    request = f"GET /stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    heard = asyncio.Semaphore(0)

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        while chunk := await reader.read(1 << 16):
            if b'"kind":"epoch"' in chunk:
                heard.release()

    viewers = [asyncio.create_task(one()) for _ in range(count)]
    for _ in viewers:
        await heard.acquire()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.gather(*viewers)


def _say(
    options: argparse.Namespace, alone: list[float], watched: list[float], busy: list[float]
) -> None:
    slower = 1 - median(watched) / median(alone)
    if options.json:
        print(json.dumps({"alone": alone, "watched": watched, "slower": slower, "busy": busy}))
        return
    print(f"epochs per second, {options.rounds} turns of {options.seconds:g} s each, medians")
    print(f"  alone                {median(alone):.3f}  ({min(alone):.3f} to {max(alone):.3f})")
    print(f"  {options.viewers} viewers          {median(watched):.3f}", end="  ")
    print(f"({min(watched):.3f} to {max(watched):.3f})")
    print(f"  slower by            {slower:.1%}  (goal: less than {TARGET:.0%})")
    print(f"  the server needs     {median(busy):.1%} of a core")


def _options() -> argparse.Namespace:
    words = parser(__doc__ or "")
    words.add_argument("--viewers", type=int, default=100)
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--seconds", type=float, default=10.0)
    words.add_argument("--connect", type=int, help=argparse.SUPPRESS)
    words.add_argument("--json", action="store_true")
    options = words.parse_args()
    if options.smoke:
        options.viewers, options.rounds, options.seconds = 2, 1, 0.5
    return options


if __name__ == "__main__":
    if (given := _options()).connect:
        asyncio.run(_view(given.connect, given.viewers))
    else:
        main()
