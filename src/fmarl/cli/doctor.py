"""`fmarl doctor`: what this machine has, what is missing, and the command to get it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, NamedTuple

from fmarl import __version__
from fmarl.cli.output import Flag, print_json, print_lines, print_table
from fmarl.cluster.connect import joined
from fmarl.cluster.hosts import Answer, Host, answers, disagreement, hosts, versions_here

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
    "tensorboard": ("for curves in a browser", "pip install tensorboard"),
    "eclipse-sumo": ("for roads of your own", "pip install 'fmarl[roads]'"),
    "ray": ("for more than one machine", "pip install 'fmarl[ray]'"),
    "pytest": ("for development", "make test"),
}
"""What later parts use: the package, what it is for, the command to get it."""
HINTS = {"ray": "check a cluster: fmarl doctor --address HOST:6379"}
"""What else can be done about a package that is here."""
SHOWN_OF_HOSTS = ("python", "ray", "jax", "fmarl")
"""Versions that are shown of each host of a cluster; more are compared."""

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

    address: str | None = None
    """Of a Ray cluster, as host:port: look at its hosts too, and whether they fit this machine."""
    json: Flag = False
    """Print everything as JSON."""

    def run(self) -> int:
        """Print the report; exit code 1 when something required is missing."""
        checks = [*_machine(), *_packages()]
        if self.address is not None:
            checks += _cluster(self.address)
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
    missing = {name: ("–", f"pip install {name}") for name in REQUIRED} | OPTIONAL
    for name, (found, fix) in missing.items():
        try:
            yield Check(name, "ok", version(name), HINTS.get(name, ""), name in REQUIRED)
        except PackageNotFoundError:
            yield Check(name, "missing", found, fix, name in REQUIRED)


def _cluster(address: str) -> list[Check]:
    """A line per host: one that does not fit gets no runs, and one that does not answer is lost."""
    with joined(address):
        found, ours = hosts(), versions_here()
        return [_host(host, said, ours) for host, said in zip(found, answers(found), strict=True)]


def _host(host: Host, said: Answer, ours: Mapping[str, str]) -> Check:
    versions = ", ".join(f"{name} {said.versions.get(name, '–')}" for name in SHOWN_OF_HOSTS)
    size = f"{host.cores} cores, {host.memory / 1e9:.1f} GB"
    differs = disagreement(ours, said)
    state = "missing" if said.problem else "low" if differs else "ok"
    fix = f"install there what is here: {differs}" if differs else ""
    return Check(f"host {host.address}", state, f"{size}, {versions}", fix, required=True)
