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
"""Of the calls between actors; actors with another number are refused."""


class RunContext(NamedTuple):
    """The run, as plain data."""

    run_id: str
    experiment: dict[str, Any]
    """As `describe_experiment` gives it."""
    spec: WorldSpec | None
    """Shapes of one world; None for the worlds, which know it first."""
    code: dict[str, str]
    """`own_code` of the driver."""

    def load_experiment(self) -> Experiment:
        """The experiment; `BadInput` if this process runs other code than the driver."""
        here = own_code()
        for name, value in self.code.items():
            if here.get(name) != value:
                raise BadInput(
                    f"{name} is {here.get(name)} on {socket.gethostname()} and {value} where the "
                    "run is conducted: its bits would differ. Install the same versions on every "
                    "host."
                )
        return from_plain(Experiment, self.experiment, "experiment")


class Location(NamedTuple):
    """Where an actor's process is."""

    pid: int
    host: str
    node: str
    """Ray's name of the host."""
    spec: WorldSpec | None = None
    """Of the world, if it is one."""


def own_location(spec: WorldSpec | None = None) -> Location:
    """Of this process."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    return Location(os.getpid(), socket.gethostname(), node, spec)


def own_code() -> dict[str, str]:
    """Everything that can change the bits of a run on this host, by name."""
    return {"protocol": str(PROTOCOL), **versions_here()}
