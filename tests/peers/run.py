"""`make test-peers`: our learners against Stable-Baselines3, in an environment of its own.

    python tests/peers/run.py [--tasks TASK ...] [--jobs N]

Needs Python 3.11 alone; the environment is made by benchmarks/peers/environments.py. First the
recordings that `make test` compares with are made anew and compared; then both sides learn the same
tasks (`compare.py`, which takes the arguments). It can be stopped at any time and called again.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
from peers.environments import home, python_of, variables  # noqa: E402 — not a package


def main() -> int:
    """Make the environment, test, compare; the exit code of what failed first."""
    try:
        python = python_of("learners")
        tests = _start(python, "-m", "pytest", "tests/peers")
        runs = str(home("learners") / "runs")
        tasks = _start(python, "-m", "peers.compare", runs, *sys.argv[1:])
        return tests or tasks
    except KeyboardInterrupt:
        return 130


def _start(*command: str) -> int:
    return subprocess.run(command, cwd=ROOT, env=variables("tests")).returncode


if __name__ == "__main__":
    sys.exit(main())
