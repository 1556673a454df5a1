"""The one file that talks to SUMO: start, load, step, read, command. Knows nothing about learning.

libsumo holds one simulation per process, so a process has at most one open `SumoSession`; worlds
that should run at once live in processes of their own (`fmarl.rollout.pool`).
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require
from fmarl.worlds.sumo.roads.network import is_whole

TESTED_VERSION = "1.28.0"
"""Results repeat bit for bit within one SUMO version, and only there."""


class SumoSession(Closeable):
    """An open simulation of one network. `load` begins an epoch; the rest is per step."""

    _is_open = False  # libsumo's own limit, so it is the class's and not the instance's

    def __init__(self, network: Path, *, step_seconds: float) -> None:
        self.api = import_libsumo()
        """The module libsumo, for what is asked once per epoch and not once per step."""
        require(
            not SumoSession._is_open,
            "a second SUMO simulation in one process",
            "one at a time",
            "Close the first one, or use a process of its own.",
        )
        require(
            is_whole(network),
            f"network {network}",
            "a whole file of SUMO's",
            "Compile the road again.",
        )
        self._folder = tempfile.TemporaryDirectory(prefix="fmarl-sumo-")  # a route file of its own
        self._routes = Path(self._folder.name, "traffic.rou.xml")
        self._arguments = _arguments(network, self._routes, step_seconds)
        # Bound once: looking them up for every call would cost as much as the call itself.
        self._advance = self.api.simulationStep
        self._collisions = self.function("simulation", "getCollidingVehiclesNumber")
        self.speed_of: Callable[[str], float] = self.function("vehicle", "getSpeed")
        """Speed of a vehicle that is on the road, in metres per second."""
        self.set_speed: Callable[[str, float], None] = self.function("vehicle", "setSpeed")
        """Ask a vehicle to drive at a speed until told otherwise; −1 hands it back to SUMO."""
        self._started = False
        SumoSession._is_open = True

    def function(self, domain: str, name: str) -> Callable[..., Any]:
        """A function of libsumo without its Python wrapper, which doubles the time of a call."""
        inner = getattr(self.api, "_libsumo", None)
        public = getattr(getattr(self.api, domain), name)
        return getattr(inner, f"{domain}_{name}", public)

    def load(self, traffic: str, seed: int) -> None:
        """Begin again with this traffic (the text of a route file) and this seed."""
        self._routes.write_text(traffic)
        arguments = [*self._arguments, "--seed", str(seed)]
        try:
            if self._started:
                self.api.load(arguments)
            else:
                self.api.start(["sumo", *arguments])
                self._started = True
        except (self.api.TraCIException, self.api.FatalTraCIError) as error:
            raise BadInput(
                f"SUMO refuses the traffic: {_first_line(error)}. "
                "See fmarl world --about for the options of a road."
            ) from None

    def advance(self) -> int:
        """Advance by one step; how many vehicles touch another one now."""
        self._advance()
        return self._collisions()

    def speeds(self, vehicles: Sequence[str]) -> list[float]:
        """Speeds of these vehicles, which must be on the road, in metres per second."""
        speed_of = self.speed_of
        return [speed_of(vehicle) for vehicle in vehicles]

    def close(self) -> None:
        if self._started:
            self.api.close()
            self._started = False
        if self._folder is not None:
            self._folder.cleanup()
            SumoSession._is_open = False
        self._folder = None


def import_libsumo() -> ModuleType:
    """The module libsumo, or one line that says how to get it."""
    try:
        import libsumo
    except ImportError as error:
        raise BadInput(
            f"SUMO can not be used: {_first_line(error)}. "
            f"Get it with: pip install libsumo=={TESTED_VERSION}"
        ) from None
    return libsumo


def _arguments(network: Path, routes: Path, step_seconds: float) -> list[str]:
    """SUMO's command line, without its seed.

    Collisions are detected also inside junctions and counted on contact; the vehicles stay, so the
    step of the crash can be read like any other. No vehicle is ever moved away by teleporting.
    """
    fixed = {
        "--net-file": str(network),
        "--route-files": str(routes),
        "--step-length": f"{step_seconds:g}",
        "--time-to-teleport": "-1",
        "--collision.action": "warn",
        "--collision.check-junctions": "true",
        "--collision.mingap-factor": "0",
        "--no-step-log": "true",
        "--no-warnings": "true",
        "--xml-validation": "never",
    }
    return [word for pair in fixed.items() for word in pair]


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
