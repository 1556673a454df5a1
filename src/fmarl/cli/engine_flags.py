"""Where runs train, as flags: in processes of this machine, or over a Ray cluster."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fmarl.cluster.faults.file import read_faults
from fmarl.cluster.faults.plan import FaultPlan
from fmarl.cluster.ray_engine import RayEngine
from fmarl.cluster.settings import ClusterSettings
from fmarl.engine.engine import LocalEngine, MakeEngine
from fmarl.errors import BadInput, require
from fmarl.launch.base import Engine, require_places


@dataclass(frozen=True, kw_only=True)
class Where:
    """The engine, and how patient it is."""

    engine: Engine = "in-process"
    """Where to train: in-process (on this machine) or ray (over a cluster; docs/cluster.md). One
    run is spread over it; of several, each trains on a core of it."""
    address: str | None = None
    """Of the Ray cluster, as host:port; without it, engine ray uses this machine's cores."""
    deadline: float = 60.0
    """Seconds after which a period goes on without agents that are not heard of (ray)."""
    quorum: int = 0
    """Agents without whom a period does not count; 0 for half of them (ray)."""
    agents_per_actor: int = 1
    """Agents that share a process (ray)."""
    faults: Path | None = None
    """TOML or JSON file of what is to go wrong, and when (docs/cluster.md)."""

    def check(self, jobs: int, runs: int) -> None:
        """Refuse what can not be, before anything is made."""
        require_places(self.engine, self.address, jobs)
        changed = [name for name in RAY_ONLY if getattr(self, name) != getattr(Where, name)]
        require(
            self.engine == "ray" or not changed,
            f"{'/'.join(changed)} with engine in-process",
            "with engine ray only",
            "Add --engine ray, or leave it out.",
        )
        alone = runs == 1 or not (changed or self.faults)
        what = f"{'/'.join(changed) or 'faults'} for {runs} runs"
        require(alone, what, "for one run at a time", "Leave it out, or train one run.")
        self._settings()

    def make_engine(self) -> MakeEngine:
        """The engine of one run."""
        if self.engine == "in-process":
            return partial(LocalEngine, absent=self._plan().away)
        return partial(RayEngine, settings=self._settings())

    def _settings(self) -> ClusterSettings:
        return ClusterSettings(
            address=self.address,
            deadline_seconds=self.deadline,
            quorum=self.quorum,
            agents_per_actor=self.agents_per_actor,
            plan=self._plan(),
        )

    def _plan(self) -> FaultPlan:
        if self.faults is None:
            return FaultPlan()
        plan = read_faults(self.faults)
        for number, fault in enumerate(plan.faults, 1):
            if self.engine == "in-process" and fault.word != "away":
                raise BadInput(
                    f"{self.faults}, fault {number}: {fault.do} is not allowed: in one process "
                    "agents can only be away. Add --engine ray."
                )
        return plan


RAY_ONLY = ("deadline", "quorum", "agents_per_actor")
HERE = Where()
