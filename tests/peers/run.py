"""`make test-peers`: our learners against Stable-Baselines3, in an environment of its own.

    python tests/peers/run.py [--tasks TASK ...] [--jobs N]

Needs Python 3.11 alone. Torch is larger than all of fmarl, so it never enters the project's own
environment. First the recordings that `make test` compares with are made anew and compared; then
both sides learn the same tasks (`compare.py`, which the words go to). Stop it at any time: called
again, it goes on where it was.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUIREMENTS = (
    "torch==2.13.0",
    "stable-baselines3==2.9.2",
    "sb3-contrib==2.9.2",
    "pytest>=8.4",
    "hypothesis>=6.130",
    "beartype>=0.21",
)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main() -> int:
    """Make the environment, test, compare; the exit code of what failed first."""
    try:
        python = ready(home() / "environment")
        tests = _start(python, "-m", "pytest", "tests/peers")
        tasks = _start(python, "-m", "peers.compare", str(home() / "runs"), *sys.argv[1:])
        return tests or tasks
    except KeyboardInterrupt:
        return 130


def home() -> Path:
    """Where the environment and the finished runs are kept."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("FMARL_PEERS") or cache / "fmarl" / "peers" / "learners").absolute()


def ready(folder: Path) -> str:
    """The interpreter of the environment, which is made unless it is there and up to date."""
    python, receipt = folder / "bin" / "python", folder / "receipt"
    if not (receipt.exists() and receipt.read_text() == wanted()):
        sys.stderr.write(f"making {folder}, once: {', '.join(REQUIREMENTS)}\n")
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, *REQUIREMENTS, "--editable", ROOT], check=True)
        receipt.write_text(wanted())
    return str(python)


def wanted() -> str:
    """What the environment is made for; when it changes, it is made anew."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return "\n".join([sys.version, str(ROOT), *project["dependencies"], *REQUIREMENTS])


def _start(*words: str) -> int:
    where = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT / "tests")}
    return subprocess.run(words, cwd=ROOT, env=where).returncode


if __name__ == "__main__":
    sys.exit(main())
