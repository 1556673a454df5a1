"""The virtual environments of other people's learners: in the user's cache, never in the project.

Torch alone is larger than all of fmarl, so nothing is installed until somebody asks to compare:
`make test-peers` (tests/peers/run.py) or `training.py --peers`. An environment holds fmarl's
dependencies, not fmarl itself: `variables` puts the sources of this folder on its path, so one
environment serves every clone.

    python benchmarks/peers/environments.py [--smoke]

makes all of them, or says what it would install.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TORCH = "torch==2.13.0"
REQUIREMENTS = {
    "learners": (
        TORCH,
        "stable-baselines3==2.9.2",
        "sb3-contrib==2.9.2",
        "pytest>=8.4",
        "hypothesis>=6.130",
        "beartype>=0.21",
    ),
    "rllib": (TORCH, "ray[rllib]==2.60.*"),
}


def home(name: str) -> Path:
    """The folder of an environment; `FMARL_PEERS` names another one for the learners."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    chosen = os.environ.get("FMARL_PEERS") if name == "learners" else None
    return Path(chosen or cache / "fmarl" / "peers" / name).absolute()


def python_of(name: str) -> str:
    """The interpreter of an environment, which is made unless it is there and up to date."""
    folder, wanted = home(name) / "environment", _packages(name)
    python, receipt = folder / "bin" / "python", folder / "receipt"
    content = "\n".join([sys.version, *wanted])
    if not (receipt.exists() and receipt.read_text() == content):
        print(f"making {folder}, once: {', '.join(REQUIREMENTS[name])}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, *wanted], check=True)
        receipt.write_text(content)
    return str(python)


def variables(*folders: str) -> dict[str, str]:
    """What a process in an environment is started with: our sources, and one thread.

    A side that computes on more threads than asked for would be faster and cost more.
    """
    paths = [str(ROOT / folder) for folder in ("src", *folders)]
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    return {**os.environ, **one_thread, "PYTHONPATH": os.pathsep.join(paths)}


def _packages(name: str) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *REQUIREMENTS[name]]


if __name__ == "__main__":
    for each in REQUIREMENTS:
        print(home(each), *_packages(each)) if "--smoke" in sys.argv else print(python_of(each))
