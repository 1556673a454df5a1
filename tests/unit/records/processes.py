"""Real processes that import what the tests import."""

import os
import subprocess
import sys

from python_path import python_path


def python(script: str, *words: str) -> subprocess.Popen[str]:
    """Start a script; use it in a `with`, which closes its pipes and waits for its end."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *words],
        env={**os.environ, "PYTHONPATH": python_path()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
