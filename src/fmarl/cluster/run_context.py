"""What every actor of a run is told when it starts, and the check that it runs the same code."""

import json
import os
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from fmarl.child_process import SEARCH_PATH, search_path
from fmarl.cluster.hosts import versions_here
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.engine.plugin_sources import changed_plugins, describe_plugins
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
    plugins: Sequence[dict[str, str]] = ()
    """`describe_plugins` of the driver."""
    search_path: Sequence[str] = ()
    """Where the driver looks for the user's own code, which must be there on every host."""

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
        if self.plugins:
            os.environ[SEARCH_PATH] = json.dumps(self.search_path)
        experiment = from_plain(Experiment, self.experiment, "experiment")
        for line in changed_plugins(experiment, {"plugins": self.plugins}):
            raise BadInput(f"on {socket.gethostname()}, {line}. Copy the same file to every host.")
        return experiment


def context_of(experiment: Experiment, run_id: str) -> RunContext:
    """What the driver tells; the world's shapes are not known yet."""
    settings = describe_experiment(experiment)
    plugins = describe_plugins(experiment)
    return RunContext(run_id, settings, None, own_code(), plugins, search_path())


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
