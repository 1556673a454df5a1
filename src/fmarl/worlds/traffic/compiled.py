"""How the rules are compiled: by numba if it is installed, and cached by what the rules say.

numba's own cache looks at the file of a function only, so it would miss a changed rule that lies in
another file. Here only `entry` points are cached, in a folder named by the hash of all files of
this package: a changed rule never meets an old program.
"""

import hashlib
import inspect
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from fmarl.errors import BadInput

try:
    import numba as _numba
except ImportError:  # everything can be imported, and run slowly, without it
    _numba = None
numba: Any = _numba

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS = {"error_model": "numpy"}
"""A division by zero is not checked for, as in C++; no reordering of sums (fastmath)."""
RULE = {"forceinline": True, "_nrt": False}
"""A rule is a few lines: calling it, and counting references to the arrays that it is given, would
take twice as long as the rule itself. Rules make no arrays, so there is nothing to count."""


def compiled(function: Function) -> Function:
    """A rule that other compiled functions call."""
    if numba is None:
        return function
    return numba.njit(**RULE, **OPTIONS)(inspect.unwrap(function))


def entry(function: Function) -> Function:
    """A compiled function that Python calls; its program is kept for the next process."""
    if numba is None:
        return function
    folder, before = program_folder(), numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)  # where to keep it is decided while decorating
    try:
        return numba.njit(cache=_is_writable(folder), **OPTIONS)(inspect.unwrap(function))
    finally:
        numba.config.CACHE_DIR = before


def require_compiler() -> None:
    """One line that says how to get numba if it is missing."""
    if numba is None:
        raise BadInput(
            "simulator = exact needs numba, which is not installed. "
            "Get it with: pip install 'fmarl[fast]', or use simulator=sumo"
        )


@cache
def program_folder() -> Path:
    """Where programs of exactly these rules are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "fmarl" / "programs" / source_digest(Path(__file__).parent)


def source_digest(package: Path) -> str:
    """Hash of all source files of a package; any change of a rule changes it."""
    whole = hashlib.sha256()
    for file in sorted(package.glob("*.py")):
        whole.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def _is_writable(folder: Path) -> bool:
    """Without a folder of our own nothing is cached: beside the source numba's own rule holds."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
