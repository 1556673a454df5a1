"""Deadlines, retries and faults of a run on a cluster."""

from dataclasses import dataclass

from fmarl.cluster.faults.injector import NO_FAULTS, FaultInjector
from fmarl.errors import require


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """Nothing here changes what is learned, unless agents are lost."""

    address: str | None = None
    """Of the cluster; None for one on this machine."""
    deadline_seconds: float = 60.0
    """A period that takes longer is repeated without the agents that do not answer then."""
    quorum: int = 0
    """Agents without whom a period does not count; 0 for half of them."""
    max_retries: int = 3
    """Attempts of a period below quorum before the run stops."""
    agents_per_actor: int = 1
    """Agents that share a process."""
    start_seconds: float = 300.0
    """Time that a process may take to start and to compile."""
    faults: FaultInjector = NO_FAULTS

    def __post_init__(self) -> None:
        for name in ("deadline_seconds", "start_seconds"):
            value = getattr(self, name)
            require(0 < value <= 1e6, f"{name} = {value}", "more than 0", "Use 60, say.")
        for name, least in (("quorum", 0), ("max_retries", 0), ("agents_per_actor", 1)):
            value = getattr(self, name)
            require(value >= least, f"{name} = {value}", f"{least} or more", "Use 1, say.")
