"""Where the runs of a sweep train: on the cores of this machine, or on those of a cluster.

A run is learning and simulating in turns, so one core is what it can use; two runs on two pinned
cores were measured faster than two runs that share two cores (docs/decisions/0008).
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from fmarl.cli import BAD_INPUT
from fmarl.cli.exit_codes import EXIT_CODES
from fmarl.cluster.joining import require_ray
from fmarl.cluster.remote_runs import ClusterCores
from fmarl.errors import BadInput, require

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
    return nullcontext(Cores(jobs=jobs, force=force))


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


class Cores:
    """The cores of this machine that we may use, or some of them."""

    def __init__(self, *, jobs: int = 0, force: bool = False) -> None:
        self._free = sorted(os.sched_getaffinity(0))[: jobs or None]
        self._size, self._force = len(self._free), force

    def __len__(self) -> int:
        """Runs at once."""
        return self._size

    @property
    def has_room(self) -> bool:
        """Whether a core is free."""
        return bool(self._free)

    def start(self, folder: Path) -> "OnCore":
        """Train a run in a process of its own."""
        return OnCore(folder, self._free, self._force)


class OnCore:
    """A run in a process of its own, on a core that is free again when it ends."""

    def __init__(self, folder: Path, free: list[int], force: bool) -> None:
        words = [sys.executable, "-m", "fmarl", "resume", str(folder), "--quiet"]
        self._core, self._free = free.pop(0), free
        with _pinned(self._core):
            self._process = subprocess.Popen(
                [*words, *(["--force"] if force else [])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us, who pass it on
            )

    def poll(self) -> int | None:
        """The exit code, once."""
        code = self._process.poll()
        if code is not None:
            self._free.append(self._core)
        return code

    def send_signal(self, number: int) -> None:
        """Ask it to save itself and end."""
        self._process.send_signal(number)

    def terminate(self) -> None:
        """Have it end."""
        self._process.terminate()

    def wait(self) -> None:
        """Wait until it has ended."""
        self._process.wait()


@contextmanager
def _pinned(core: int) -> Iterator[None]:
    """What is started within stays on one core; we do not."""
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, ours)
