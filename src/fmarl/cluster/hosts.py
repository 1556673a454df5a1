"""The hosts of a Ray cluster that we are in: what each has, and objects on a core of one."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from fmarl import __version__
from fmarl.records.run_description import installed_versions

ANSWER_SECONDS = 30.0
"""A host that has not said by then what it has is not used; its first worker must start in it."""
SILENCE_SECONDS = 60.0
"""A host that has answered before and does not for so long counts as lost."""


class Host(NamedTuple):
    """A machine of the cluster, as Ray knows it."""

    node_id: str
    address: str
    cores: int
    memory: int
    """In bytes, as much as Ray may give away."""


class Answer(NamedTuple):
    """What a host has said about itself."""

    versions: dict[str, str]
    problem: str
    """Why there are no versions; empty if there are."""


def versions_here() -> dict[str, str]:
    """Versions of all that must be the same on every host, and a digest of our own sources."""
    return {
        **installed_versions(),
        "fmarl": __version__,
        "sources": _sources(),
        "ray": version("ray"),
    }


def hosts() -> list[Host]:
    """All hosts that are up, those of most cores first."""
    import ray

    up = []
    for node in ray.nodes():
        if node["Alive"]:
            cores, memory = (int(node["Resources"].get(name, 0)) for name in ("CPU", "memory"))
            up.append(Host(node["NodeID"], node["NodeManagerAddress"], cores, memory))
    return sorted(up, key=lambda host: (-host.cores, host.address, host.node_id))


def least_loaded(up: Sequence[Host], taken: Mapping[str, int], lost: str = "") -> Host:
    """Where one more process has most of a core; where the last one was lost only if need be.

    Hosts without cores are part of the cluster to give work, not to take it.

    >>> one, two = Host("a", "10.0.0.1", 2, 0), Host("b", "10.0.0.2", 4, 0)
    >>> [least_loaded([one, two], taken).address for taken in ({}, {"a": 1, "b": 3})]
    ['10.0.0.1', '10.0.0.1']
    >>> least_loaded([one, two], {"b": 9}, lost="a").address
    '10.0.0.2'
    """
    working = [host for host in up if host.cores] or list(up)
    others = [host for host in working if host.node_id != lost] or working
    return min(others, key=lambda host: taken.get(host.node_id, 0) / max(host.cores, 1))


def on_node(node_id: str) -> Any:
    """Ray's strategy for just that host: by a soft one, what claims no CPU may go anywhere."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node_id, soft=False)


def ask_versions(host: Host) -> Any:
    """Have a host say what it has: a reference for `answer`. It waits for no core."""
    import ray

    options = {"num_cpus": 0, "scheduling_strategy": on_node(host.node_id), "max_retries": 0}
    return ray.remote(versions_here).options(**options).remote()


def answer(reference: Any, seconds: float) -> Answer | None:
    """What a host has said; None if it has not yet."""
    import ray
    from ray.exceptions import RayError

    ready, _ = ray.wait([reference], timeout=seconds)
    if not ready:
        return None
    try:
        return Answer(ray.get(reference), "")
    except RayError as problem:  # such as a host without fmarl
        return Answer({}, _last_line(problem))


def answers(asked: Sequence[Host], seconds: float = ANSWER_SECONDS) -> list[Answer]:
    """What each host says about itself, all asked at once."""
    deadline = time.monotonic() + seconds
    silent = Answer({}, f"no answer in {seconds:.0f} s")
    references = [ask_versions(host) for host in asked]
    return [answer(one, max(deadline - time.monotonic(), 0.0)) or silent for one in references]


def disagreement(ours: Mapping[str, str], theirs: Answer) -> str:
    """In what a host differs so that runs could end with other bits there; empty if in nothing.

    >>> disagreement({"jax": "0.10.2"}, Answer({"jax": "0.9.0"}, ""))
    'jax 0.9.0, here 0.10.2'
    """
    if theirs.problem:
        return theirs.problem
    different = [
        f"{name} {theirs.versions.get(name, 'missing')}, here {here}"
        for name, here in ours.items()
        if theirs.versions.get(name) != here
    ]
    return "; ".join(different)


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
            raise HostLost(_last_line(problem)) from None
        self._answered = time.monotonic()
        return found

    def kill(self) -> None:
        import ray

        ray.kill(self._actor)


def _last_line(problem: BaseException) -> str:
    """Ray's errors are whole pages; the last line is what happened."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    return lines[-1][:200] if lines else type(problem).__name__


def _sources() -> str:
    """Says if two hosts have the same fmarl, where versions stay the same for weeks."""
    package = Path(__file__).parents[1]
    total = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        total.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return total.hexdigest()[:12]
