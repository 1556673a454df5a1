"""Our learners against Stable-Baselines3's on the same tasks. `run.py` starts it.

    python -m peers.compare FOLDER [--tasks TASK ...] [--jobs N]

Every run is a process of its own and leaves a file in FOLDER when it is done. A run whose file is
there is not run again, so what was stopped goes on where it was. The file's name has a fingerprint
of all that decides the run: settings, versions and source.
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
from peers import ours, their_words
from peers.results import RESULTS, Comparison, Result, decode, encode, tables, write
from peers.tasks import TASKS, Task

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "src" / "fmarl"
COMMAND = "python tests/peers/run.py"
STOPPED = (-2, -15, 130, 143)
"""Exit codes of a run that somebody stopped; any other but 0 is a run that failed."""


class Stopped(RuntimeError):  # noqa: N818 — it reads as what happened
    """Somebody stopped a run: it has neither succeeded nor failed."""


class Side(NamedTuple):
    """What decides how a side's runs go, besides task and seed."""

    settings: Callable[[Task], dict[str, Any]]
    packages: tuple[str, ...]
    sources: tuple[Path, ...]


SIDES = {
    "ours": Side(
        ours.settings,
        ("jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium"),
        (*PACKAGE.rglob("*.py"), HERE / "ours.py", HERE / "score.py"),
    ),
    "theirs": Side(
        their_words.settings,
        ("torch", "stable-baselines3", "sb3-contrib", "numpy", "gymnasium"),
        (HERE / "theirs.py", HERE / "score.py"),
    ),
}


class Job(NamedTuple):
    """A run that there should be."""

    task: str
    side: str
    seed: int
    file: Path


def main() -> None:
    """Run what is missing, show the tables, write the results; exit code 1 if we are worse."""
    asked = _parser().parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    jobs = [job for name in asked.tasks for job in jobs_of(name, asked.folder)]
    try:
        run_missing(jobs, asked.jobs)
    except (Stopped, KeyboardInterrupt):
        say("Stopped. Called again, it goes on where it was.")
        sys.exit(130)
    comparisons = [gathered(name, jobs) for name in asked.tasks]
    for comparison in comparisons:
        write(comparison, {"command": COMMAND, **circumstances(comparison.task)})
    say(f"\n{tables(comparisons)}\n\nEvery run is in {RESULTS}.")
    say("For docs/peers.md: .venv/bin/pytest tests/peers/test_peer_results.py --update-golden")
    sys.exit(not all(comparison.verdict.passed for comparison in comparisons))


def jobs_of(name: str, folder: Path) -> list[Job]:
    """All runs of a task, the sides in turn, so that both meet the same load of the machine."""
    marks = {side: _digest(facts) for side, facts in circumstances(name).items()}
    return [
        Job(name, side, seed, folder / f"{side}-{mark}-{seed}.json")
        for seed in range(TASKS[name].num_seeds)
        for side, mark in marks.items()
    ]


def circumstances(name: str) -> dict[str, dict[str, Any]]:
    """Of each side, all that decides how its runs of a task go."""
    task = TASKS[name]
    return {
        word: {
            "environment": task.env_id,
            "steps": task.steps,
            "settings": side.settings(task),
            "versions": {package: version(package) for package in side.packages},
            "source": _digest(sorted(path.read_text() for path in side.sources)),
        }
        for word, side in SIDES.items()
    }


def run_missing(jobs: Sequence[Job], at_once: int) -> None:
    """Run what has no file yet, some at once, and say so."""
    missing = list({job.file: job for job in jobs if not job.file.exists()}.values())
    say(f"{len(missing)} runs to do, {at_once} at a time; each that is done is kept.")
    with ThreadPool(at_once) as pool:
        for count, (job, result) in enumerate(pool.imap_unordered(_run, missing), start=1):
            say(
                f"[{count}/{len(missing)}] {job.task} {job.side} seed {job.seed}: "
                f"{result.failed or f'{result.score:.1f}'}, {result.cpu_seconds:.0f} s of CPU"
            )


def gathered(name: str, jobs: Sequence[Job]) -> Comparison:
    """What all runs of a task have left."""
    return Comparison(name, [decode(job.file.read_bytes()) for job in jobs if job.task == name])


def say(line: str) -> None:
    """Show at once, also where the output is a file."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _run(job: Job) -> tuple[Job, Result]:
    """Run a process that writes the result; if it fails, that is the result."""
    words = ["-m", "peers.one_run", job.side, job.task, str(job.seed), str(job.file)]
    done = subprocess.run([sys.executable, *words], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode in STOPPED:
        raise Stopped
    if done.returncode:
        why = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        lowest = TASKS[job.task].lowest
        write_durably(job.file, encode(Result(job.side, job.seed, [lowest], lowest, 0.0, why[-1])))
    return job, decode(job.file.read_bytes())


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("folder", type=Path, help="where the runs are kept")
    words.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    words.add_argument("--jobs", type=int, default=1, help="runs at once")
    return words


if __name__ == "__main__":
    main()
