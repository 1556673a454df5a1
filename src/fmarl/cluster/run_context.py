"""What every actor of a run is told when it starts, and the check that it runs the same code."""

import os
import socket
from typing import Any, NamedTuple

from fmarl.cluster.hosts import versions_here
from fmarl.engine.experiment import Experiment
from fmarl.errors import BadInput
from fmarl.settings_io import from_plain
from fmarl.worlds.world import WorldSpec

PROTOCOL = 1
"""Of the calls between actors; another number can not be talked to."""


class Charge(NamedTuple):
    """The run, as plain data."""

    run_id: str
    experiment: dict[str, Any]
    """As `describe_experiment` gives it."""
    spec: WorldSpec | None
    """Shapes of one world; None for the worlds, which know it first."""
    code: dict[str, str]
    """`own_code` of the conductor."""

    def opened(self) -> Experiment:
        """The experiment; `BadInput` if other code runs here than at the conductor."""
        require_same_code(self.code)
        return from_plain(Experiment, self.experiment, "experiment")


class Ticket(NamedTuple):
    """Which try of which period a call belongs to; later tickets are larger."""

    period: int
    attempt: int


class Superseded(RuntimeError):  # noqa: N818 — it reads as what happened
    """A call of a try that has been given up: nobody waits for its answer."""


class Place(NamedTuple):
    """Where an actor's process is."""

    pid: int
    host: str
    node: str
    """Ray's name of the host."""


def own_place() -> Place:
    """Where this process is."""
    import ray

    context = ray.get_runtime_context()
    return Place(os.getpid(), socket.gethostname(), context.get_node_id())


def own_code() -> dict[str, str]:
    """Everything that can change the bits of a run on this host, by name."""
    return {"protocol": str(PROTOCOL), **versions_here()}


def require_same_code(wanted: dict[str, str]) -> None:
    """Refuse to take part with other code than the conductor's."""
    here = own_code()
    for name, value in wanted.items():
        if here.get(name) != value:
            raise BadInput(
                f"{name} is {here.get(name)} on {socket.gethostname()} and {value} where the run "
                "is conducted: its bits would differ. Install the same versions on every host."
            )
