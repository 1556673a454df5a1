"""The head of a Ray cluster: without it nothing goes on, and Ray would end our whole process."""

import time

from fmarl.cluster.hosts import head_address
from fmarl.cluster.probe import listens
from fmarl.engine.engine import EngineFailed

LOOK_SECONDS = 5.0
"""How often it is looked for."""
HEAD_SECONDS = 15.0
"""How long it may be away, as for a restart. Ray itself waits for a minute."""


class ClusterLost(EngineFailed):
    """Nothing more can be heard of any host."""


class Head:
    """The head of the cluster that we are in."""

    def __init__(self) -> None:
        self._address = head_address()
        self._seen = time.monotonic()

    @property
    def is_there(self) -> bool:
        """Whether it takes connections; if not, calls to Ray may never return."""
        return listens(self._address)

    def require(self) -> None:
        """Wait a while for a head that is gone; `ClusterLost` if it does not come back."""
        if time.monotonic() - self._seen < LOOK_SECONDS:
            return
        deadline = time.monotonic() + HEAD_SECONDS
        while not self.is_there:
            if time.monotonic() > deadline:
                raise ClusterLost(
                    f"The cluster is gone: its head at {self._address} does not answer. "
                    "What was learned so far is kept; go on with `fmarl resume`."
                )
            time.sleep(1.0)
        self._seen = time.monotonic()
