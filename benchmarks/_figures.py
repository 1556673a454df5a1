"""Arguments and output that benchmarks share: ratios measured in one run, and a tiny size of it.

The machines are shared, so only ratios of what was measured in turns, in one run, mean anything.
"""

import argparse
import json
import math
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

Figures = dict[str, float]


class Goal(NamedTuple):
    """What a figure should be."""

    bound: str
    """`at most` or `at least`."""
    number: float


def parser(description: str) -> argparse.ArgumentParser:
    """With the flag that every benchmark has."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--smoke", action="store_true", help="tiny sizes: does it run at all?")
    return made


def seconds(work: Callable[[], object]) -> float:
    """Time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(
    one: Callable[[], object], other: Callable[[], object], turns: int, warm_up: int
) -> tuple[float, float]:
    """Seconds that each takes, in the median."""
    pairs = [(seconds(one), seconds(other)) for _ in range(warm_up + turns)][warm_up:]
    ours, theirs = zip(*pairs, strict=True)
    return median(ours), median(theirs)


def ratio(one: float, other: float) -> float:
    """Not a number where there is nothing to divide by, as in tiny sizes."""
    return one / other if other else math.nan


def commit() -> str:
    """The commit whose code was measured; with a plus if files differ from it."""
    here = Path(__file__).parent
    asked = ["git", "-C", str(here), "describe", "--always", "--abbrev=10", "--dirty=+"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def show(
    title: str, figures: Figures, goals: Mapping[str, Goal] = {}, notes: Sequence[str] = ()
) -> None:
    """Print a part of a benchmark, each figure with its goal if it has one."""
    print(title.replace("_", " "))
    for note in notes:
        print(f"  {note}")
    for name, number in figures.items():
        goal = goals.get(name)
        hint = f"  ({goal.bound} {goal.number:g} wanted)" if goal else ""
        print(f"  {name.replace('_', ' '):55} {number:10.3f}{hint}", flush=True)


def show_json(found: Mapping[str, Any]) -> None:
    """Print everything as one object."""
    print(json.dumps({"commit": commit(), **found}, indent=2))
