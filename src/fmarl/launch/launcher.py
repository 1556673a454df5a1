"""Where runs are trained: on the cores of this machine, or on those of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from fmarl.cluster.connect import joined, require_cluster, require_ray
from fmarl.errors import require
from fmarl.launch.on_cluster import ClusterLauncher
from fmarl.launch.on_this_machine import LocalLauncher

EngineName = Literal["in-process", "ray"]


@runtime_checkable
class LaunchedRun(Protocol):
    """A run that trains; `subprocess.Popen` is much like it."""

    def poll(self) -> int | None:
        """The exit code, negative if a signal ended it; None as long as it trains."""
        ...

    def send_signal(self, number: int) -> None:
        """Ask it to save itself and end."""
        ...

    def terminate(self) -> None:
        """Have it end, whatever it loses; the end of its launcher's `with` waits for that."""
        ...


@runtime_checkable
class Launcher(Protocol):
    """Trains some runs at once; how many, is its length."""

    def __len__(self) -> int: ...

    @property
    def has_room(self) -> bool:
        """Whether a run could be started now."""
        ...

    def start(self, folder: Path) -> LaunchedRun:
        """Train a run whose folder has been made."""
        ...


@contextmanager
def open_launcher(
    engine: EngineName, address: str | None = None, *, jobs: int = 0, force: bool = False
) -> Iterator[Launcher]:
    """A launcher of `jobs` runs at once (0: one per core); `force` is that of `engine.resume`."""
    if engine == "ray":
        with joined(address):
            yield ClusterLauncher(jobs=jobs, force=force)
    else:
        with LocalLauncher(jobs=jobs, force=force) as launcher:
            yield launcher


def require_launcher(engine: EngineName, address: str | None, jobs: int) -> None:
    """Refuse what `open_launcher` can not do, before anything is made."""
    require(jobs >= 0, f"jobs = {jobs}", "0 or more", "Use 0 for one per core.")
    require(
        address is None or engine == "ray",
        f"address {address!r:.60} with engine {engine}",
        "an address with engine ray",
        "Add --engine ray.",
    )
    if engine == "ray":
        require_ray()
        if address is not None:
            require_cluster(address)
