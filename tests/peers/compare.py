"""Our learners against Stable-Baselines3's on the same tasks. `run.py` starts it.

    python -m peers.compare FOLDER [--tasks TASK ...] [--jobs N]

Every run is a process of its own and leaves a file in FOLDER when it is done. A run whose file
exists is not run again, so a comparison that was stopped can be continued. The file's name has a
fingerprint of all that decides the run: settings, versions and source.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, NamedTuple

from fmarl.records.atomic_files import write_durably
from fmarl.reproduce.result_keys import code_fingerprint, statements
from peers import fmarl_side, sb3_settings, write_docs
from peers.results import RESULTS, PeerComparison, PeerRun, decode, encode, write
from peers.tasks import TASKS, Task

HERE = Path(__file__).parent
COMMAND = "python tests/peers/run.py"
STOPPED = (-2, -15, 130, 143)
"""Exit codes of a run that somebody stopped; any other but 0 is a run that failed."""


class Stopped(RuntimeError):  # noqa: N818 — it reads as what happened
    """Somebody stopped a run: it has neither succeeded nor failed."""


class Side(NamedTuple):
    """What decides a side's runs, besides task and seed."""

    settings: Callable[[Task], dict[str, Any]]
    packages: tuple[str, ...]
    source: str


def _side_source(name: str) -> str:
    """Code of the files here that train and score, without comments and docstrings."""
    return "\n".join(statements(HERE / file) for file in (name, "score.py"))


SIDES = {
    "ours": Side(
        fmarl_side.settings,
        ("jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium"),
        f"{code_fingerprint()}\n{_side_source('fmarl_side.py')}",
    ),
    "theirs": Side(
        sb3_settings.settings,
        ("torch", "stable-baselines3", "sb3-contrib", "numpy", "gymnasium"),
        _side_source("sb3_side.py"),
    ),
}


class PlannedRun(NamedTuple):
    """A run that there should be."""

    task: str
    side: str
    seed: int
    file: Path


def main() -> None:
    """Compare task by task and write the results; exit code 1 if ours is worse on any."""
    options = _parser().parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        comparisons = [compare(name, options.folder, options.jobs) for name in options.tasks]
    except (Stopped, KeyboardInterrupt):
        say("Stopped. Called again, it continues.")
        sys.exit(130)
    say(f"\n{write_docs.result_tables(comparisons)}\n\nEvery run is in {RESULTS}.")
    sys.exit(not all(comparison.verdict.passed for comparison in comparisons))


def compare(name: str, folder: Path, jobs: int) -> PeerComparison:
    """Run what is missing of a task, and write its results and the page."""
    planned = planned_runs(name, folder)
    run_missing(planned, jobs)
    comparison = PeerComparison(name, [decode(run.file.read_bytes()) for run in planned])
    write(comparison, {"command": COMMAND, **provenance(name)})
    write_docs.main()
    return comparison


def planned_runs(name: str, folder: Path) -> list[PlannedRun]:
    """All runs of a task, the sides in turn, so that both meet the same load of the machine."""
    marks = {side: _digest(facts) for side, facts in provenance(name).items()}
    return [
        PlannedRun(name, side, seed, folder / f"{side}-{mark}-{seed}.json")
        for seed in range(TASKS[name].num_seeds)
        for side, mark in marks.items()
    ]


def provenance(name: str) -> dict[str, dict[str, Any]]:
    """Of each side, all that decides its runs of a task."""
    task = TASKS[name]
    return {
        word: {
            "environment": task.env_id,
            "steps": task.steps,
            "settings": side.settings(task),
            "versions": {package: version(package) for package in side.packages},
            "source": _digest(side.source),
        }
        for word, side in SIDES.items()
    }


def run_missing(planned: Sequence[PlannedRun], jobs: int) -> None:
    """Run what has no file yet, some at once, and report each."""
    missing = [run for run in planned if not run.file.exists()]
    say(f"{planned[0].task}: {len(missing)} runs to do, {jobs} at a time; finished ones are kept.")
    with ThreadPool(jobs) as pool:
        for count, (run, result) in enumerate(pool.imap_unordered(_run, missing), start=1):
            say(
                f"[{count}/{len(missing)}] {run.task} {run.side} seed {run.seed}: "
                f"{result.failed or f'{result.score:.1f}'}, {result.cpu_seconds:.0f} s of CPU"
            )


def say(line: str) -> None:
    """Print at once, also into a file."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _run(planned: PlannedRun) -> tuple[PlannedRun, PeerRun]:
    """Run a process that writes the result; if it fails, that is the result."""
    arguments = [planned.side, planned.task, str(planned.seed), str(planned.file)]
    command = [sys.executable, "-m", "peers.one_run", *arguments]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode in STOPPED:
        raise Stopped
    if done.returncode:
        why = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        lowest = TASKS[planned.task].lowest
        failed = PeerRun(planned.side, planned.seed, [lowest], lowest, 0.0, why[-1])
        write_durably(planned.file, encode(failed))
    return planned, decode(planned.file.read_bytes())


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the runs are kept")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    return parser


if __name__ == "__main__":
    main()
