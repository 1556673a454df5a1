"""Where the runs of a sweep train: on the cores of this machine, or on those of a cluster."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from fmarl.cli import BAD_INPUT
from fmarl.cli.exit_codes import EXIT_CODES
from fmarl.cluster.connect import require_ray
from fmarl.errors import BadInput, require
from fmarl.launch.on_cluster import ClusterCores
from fmarl.launch.on_this_machine import Cores

Engine = Literal["in-process", "ray"]


@runtime_checkable
class Running(Protocol):
    """A run that trains; `subprocess.Popen` is much like it."""

    def poll(self) -> int | None:
        """The exit code, negative if a signal ended it; None as long as it trains."""
        ...

    def send_signal(self, number: int) -> None:
        """Ask it to save itself and end."""
        ...

    def terminate(self) -> None:
        """Have it end, whatever it loses."""
        ...

    def wait(self) -> None:
        """Wait until it has ended, after `terminate`."""
        ...


@runtime_checkable
class Places(Protocol):
    """Room for some runs at once."""

    def __len__(self) -> int:
        """Runs at once."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether a run could be started now."""
        ...

    def start(self, folder: Path) -> Running:
        """Train a run that has been begun."""
        ...


def open_places(
    engine: Engine, address: str | None = None, *, jobs: int = 0, force: bool = False
) -> AbstractContextManager[Places]:
    """Room for `jobs` runs at once (0: one per core) here or on a cluster, for the body's time."""
    require_places(engine, address, jobs)
    if engine == "ray":
        codes = {BadInput: BAD_INPUT, **EXIT_CODES}
        return ClusterCores(address, jobs=jobs, force=force, exit_codes=codes)
    return Cores(jobs=jobs, force=force)


def require_places(engine: Engine, address: str | None, jobs: int) -> None:
    """Refuse what `open_places` would, before anything is made."""
    require(jobs >= 0, f"jobs = {jobs}", "0 or more", "Use 0 for one per core.")
    require(
        address is None or engine == "ray",
        f"address {address!r:.60} with engine {engine}",
        "an address with engine ray",
        "Add --engine ray.",
    )
    if engine == "ray":
        require_ray()
