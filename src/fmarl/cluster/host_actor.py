"""An object on a core of a chosen host, called over Ray without ever waiting for it."""

import time
from typing import Any

from fmarl.cluster.hosts import Host, last_line, on_node

SILENCE_SECONDS = 60.0
"""A host that has answered before and does not for so long counts as lost."""


class HostLost(Exception):  # noqa: N818 — it reads as what happened
    """The host, or the process on it, is gone or silent."""


class HostActor:
    """An actor that is not started anew if it dies, and the call that it was last asked for."""

    _call: Any
    _answered: float | None = None
    """When it last did."""

    def __init__(self, kind: type, host: Host, *given: Any) -> None:
        import ray

        options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0}
        actor: Any = ray.remote(kind)
        self._actor = actor.options(**options, scheduling_strategy=on_node(host.node_id)).remote(
            *given
        )

    @property
    def has_answered(self) -> bool:
        """Whether it has started; before, it may be waiting for its core."""
        return self._answered is not None

    def call(self, method: str) -> None:
        """Begin a call, for `answer`."""
        self._call = getattr(self._actor, method).remote()

    def notify(self, method: str, *given: Any) -> None:
        """Begin a call that nobody waits for."""
        getattr(self._actor, method).remote(*given)

    def answer(self) -> Any:
        """What the call returned; None if it has not yet, `HostLost` if it never will."""
        import ray
        from ray.exceptions import RayError

        ready, _ = ray.wait([self._call], timeout=0)
        if not ready:
            if self._answered and time.monotonic() - self._answered > SILENCE_SECONDS:
                raise HostLost(f"no answer in {SILENCE_SECONDS:.0f} s")
            return None
        try:
            found = ray.get(self._call)
        except RayError as problem:
            raise HostLost(last_line(problem)) from None
        self._answered = time.monotonic()
        return found

    def kill(self) -> None:
        import ray

        ray.kill(self._actor)
