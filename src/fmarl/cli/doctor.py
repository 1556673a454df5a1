"""`fmarl doctor`: what this machine has, what is missing, and the command to get it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, NamedTuple

from fmarl import __version__
from fmarl.cli.output import Flag, print_json, print_lines, print_table

REQUIRED = (
    "numpy",
    "scipy",
    "networkx",
    "jax",
    "equinox",
    "optax",
    "safetensors",
    "tensorboardx",
    "libsumo",
    "gymnasium",
    "pettingzoo",
    "jaxtyping",
    "tyro",
    "rich",
    "matplotlib",
    "starlette",
    "uvicorn",
)
OPTIONAL = {
    "tensorboard": ("curves in a browser", "pip install tensorboard"),
    "eclipse-sumo": ("roads of your own", "pip install 'fmarl[roads]'"),
    "ray": ("more than one machine", "pip install 'fmarl[ray]'"),
    "pytest": ("development", "make test"),
}
"""What later parts use: the package, what it is for, the command to get it."""

ENOUGH_GIGABYTES = 2.0


class Check(NamedTuple):
    """One line of the report."""

    name: str
    state: Literal["ok", "missing", "low"]
    found: str
    fix: str = ""
    required: bool = False


@dataclass(frozen=True, kw_only=True)
class Doctor:
    """Versions, cores, memory, disk, SUMO and extras, and how to get what is missing."""

    json: Flag = False
    """Print everything as JSON."""

    def run(self) -> int:
        """Print the report; exit code 1 when something required is missing."""
        checks = [*_machine(), *_packages()]
        broken = [check.name for check in checks if check.required and check.state == "missing"]
        if self.json:
            print_json([check._asdict() for check in checks])
        else:
            print_table(
                "fmarl doctor", ["what", "state", "found", "fix"], [check[:4] for check in checks]
            )
            print_lines(
                f"missing: {', '.join(broken)}" if broken else "everything required is here"
            )
        return 1 if broken else 0


def _machine() -> Iterator[Check]:
    yield Check("fmarl", "ok", __version__)
    fits = sys.version_info >= (3, 11)
    found = platform.python_version()
    yield Check(
        "python", "ok" if fits else "missing", found, "" if fits else "install 3.11 or later", True
    )
    yield Check("cores", "ok", str(len(os.sched_getaffinity(0))))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield _space("memory", memory, "close other programs")
    yield _space("disk here", shutil.disk_usage(".").free, "free some space")


def _space(name: str, size: int, fix: str) -> Check:
    enough = size / 1e9 >= ENOUGH_GIGABYTES
    return Check(name, "ok" if enough else "low", f"{size / 1e9:.1f} GB", "" if enough else fix)


def _packages() -> Iterator[Check]:
    for name in REQUIRED:
        found = _version(name)
        fix = "" if found else f"pip install {name}"
        yield Check(name, "ok" if found else "missing", found or "–", fix, required=True)
    for name, (purpose, command) in OPTIONAL.items():
        found = _version(name)
        yield Check(
            name, "ok" if found else "missing", found or f"for {purpose}", "" if found else command
        )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
