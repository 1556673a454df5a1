"""Where the others live: one virtual environment each, in the user's cache, never in the project's.

Torch alone is larger than all of fmarl, so nothing here is installed unless a benchmark is asked
to compare with them.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Peer(NamedTuple):
    """Somebody else's learner, and what it takes to run it."""

    script: str
    """In this folder."""
    requirements: tuple[str, ...]
    differs: str
    """In what it does not do the same as we do."""


PEERS = {
    "stable_baselines3": Peer(
        "with_sb3.py",
        ("torch==2.13.0", "stable-baselines3==2.9.*"),
        "agents never average; the critic is asked while acting, not afterwards for a whole slot",
    ),
    "rllib": Peer(
        "with_rllib.py",
        ("torch==2.13.0", "ray[rllib]==2.60.*"),
        "agents never average; four steps on 250 rows drawn from a slot and one row added to each "
        "episode, not on whole slots; Ray's own processes beside the learner's are not counted",
    ),
}


def python_of(name: str) -> str:
    """The interpreter of a peer's environment, which is made if it is not there."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder, wanted = home / "fmarl" / "peers" / name, PEERS[name].requirements
    python, done = str(folder / "bin" / "python"), folder / "done"
    if not done.exists() or done.read_text() != _receipt(wanted):
        print(f"making {folder} with {', '.join(wanted)} …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [python, "-m", "pip", "install", "--quiet", *wanted, "--editable", str(ROOT)]
        subprocess.run(install, check=True)
        done.write_text(_receipt(wanted))
    return python


def _receipt(requirements: tuple[str, ...]) -> str:
    """What was installed: with other wishes, or another folder of the project, it is made anew."""
    return "\n".join([str(ROOT), *requirements])
