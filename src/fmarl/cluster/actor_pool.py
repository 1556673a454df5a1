"""The Ray actors of a run: started, called, polled, and killed when they are lost."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from fmarl.cluster.agent_actor import AgentActor
from fmarl.cluster.hosts import hosts, least_loaded, on_node
from fmarl.cluster.membership import AGENTS, AttemptFailed, PollResult, Reference, Role
from fmarl.cluster.run_context import Location, RunContext
from fmarl.cluster.settings import ClusterSettings
from fmarl.cluster.virtual_agent import VirtualAgent
from fmarl.cluster.world_actor import WorldActor
from fmarl.errors import BadInput, EngineFailed
from fmarl.records.events import EventCode
from fmarl.user_code import UserCodeFailed

KILL_SECONDS = 5.0


class ActorPool:
    """Which process plays which role. Made inside a cluster; `Membership` decides when."""

    def __init__(self, context: RunContext, settings: ClusterSettings) -> None:
        self.context, self._faults = context, settings.faults
        self.num_agents = 0
        self._agents_per_actor = settings.agents_per_actor
        self._start_seconds = settings.start_seconds
        self._actors: dict[Role, Any] = {}
        self._locations: dict[Role, Location] = {}
        self._nodes: dict[Role, str] = {}
        """Where each was sent, or answered from."""
        self._lost_at: dict[Role, str] = {}
        self._started_at: dict[Role, float] = {}
        self.events: list[dict[str, Any]] = []

    def actor_of(self, agent: int) -> Role:
        return (AGENTS, agent // self._agents_per_actor)

    def agents_of(self, role: Role) -> list[int]:
        """The agents of an actor; none for other roles."""
        kind, number = role
        start = number * self._agents_per_actor
        agents = range(self.num_agents)[start : start + self._agents_per_actor]
        return list(agents) if kind == AGENTS else []

    @property
    def worlds(self) -> list[int]:
        return sorted(number for kind, number in self._actors if kind == "world")

    def call(self, role: Role, method: str, *arguments: Any, returns: int = 1) -> Any:
        """Call a method of an actor: a reference to its result, or to each of several."""
        return getattr(self._actors[role], method).options(num_returns=returns).remote(*arguments)

    def call_agent(
        self,
        agent: int,
        method: str,
        arguments: tuple[Any, ...],
        *references: Reference,
        returns: int = 1,
    ) -> Any:
        """Call a method of an agent, with known arguments and then with results of other calls."""
        # Known arguments go as one: Ray packs and unpacks every argument apart.
        call = (agent, method, arguments)
        return self.call(self.actor_of(agent), "call", call, *references, returns=returns)

    def is_ready(self, reference: Reference, seconds: float) -> bool:
        return bool(_wait([reference], seconds))

    def fetch(self, references: Sequence[Reference]) -> list[Any]:
        """The values; `AttemptFailed` where one was lost, or the actor that computes it."""
        import ray
        from ray import exceptions

        try:
            return ray.get(list(references))
        except exceptions.RayTaskError as problem:
            cause = problem.cause
            if isinstance(cause, BadInput):
                raise BadInput(str(cause)) from None
            if isinstance(cause, UserCodeFailed):  # a world's: it would only fail again
                raise UserCodeFailed(cause.doing, cause.failure) from None
            raise AttemptFailed(f"{type(cause).__name__}: {cause}") from problem
        except exceptions.RayError as problem:
            raise AttemptFailed(" ".join(str(problem).split())[:200]) from problem

    def start(self, role: Role) -> None:
        """Start an actor; it may take a while until it answers."""
        import ray

        host = least_loaded(hosts(), Counter(self._nodes.values()), self._lost_at.get(role, ""))
        self._nodes[role], self._started_at[role] = host.node_id, time.monotonic()
        actor_class, arguments = self._actor_class(role)
        # No CPU is claimed: actors wait for each other most of the time. Calls need not come in
        # order (each waits for its arguments), so that one that hangs blocks no other.
        remote = ray.remote(actor_class).options(
            num_cpus=0,
            scheduling_strategy=on_node(host.node_id),
            max_restarts=0,
            allow_out_of_order_execution=True,
        )
        self._actors[role] = remote.remote(*arguments)

    def _actor_class(self, role: Role) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        kind, number = role
        if kind == AGENTS:
            faults = {agent: self._faults.of(agent=agent) for agent in self.agents_of(role)}
            return AgentActor, (self.context, faults)
        if kind == "world":
            return WorldActor, (number, self.context, self._faults.of(world=number))
        return VirtualAgent, (self.context, self._faults.of(virtual=True))

    def await_start(self, roles: Sequence[Role]) -> dict[Role, Any]:
        """Wait until actors answer, and return their locations.

        `BadInput` of one that refuses; `EngineFailed` if one does not start in time.
        """
        poll = self.poll(roles, self._start_seconds)
        for problem in poll.dead.values():
            raise problem
        if poll.silent:
            names = ", ".join(" ".join(map(str, role)) for role in poll.silent)
            raise EngineFailed(
                f"{names} did not start within {self._start_seconds:g} s on the cluster. "
                "Does `ray status` show room? Go on later with `fmarl resume`."
            )
        return poll.answers

    def poll(self, roles: Sequence[Role], seconds: float) -> PollResult:
        """Ask actors where they are, and wait so long for their answers."""
        import ray
        from ray import exceptions

        asked = {role: self.call(role, "location") for role in roles}
        poll = PollResult({}, {}, [])
        ready = _wait(list(asked.values()), seconds)
        for role, reference in asked.items():
            if reference not in ready:
                poll.silent.append(role)
                continue
            try:
                poll.answers[role] = ray.get(reference)
                self._record_location(role, poll.answers[role])
            except (exceptions.RayActorError, exceptions.ActorUnschedulableError) as problem:
                poll.dead[role] = _cause_of_death(problem)
        return poll

    def is_overdue(self, role: Role) -> bool:
        return time.monotonic() - self._started_at[role] > self._start_seconds

    def kill(self, role: Role) -> None:
        """End an actor's process, even one that is stopped and can not react."""
        import ray
        from ray import exceptions

        actor, location = self._actors.pop(role, None), self._locations.pop(role, None)
        self._lost_at[role] = self._nodes.pop(role, "")
        if actor is not None:
            ray.kill(actor)
        if location is None:
            return
        there = on_node(location.node)
        killing = ray.remote(_kill).options(num_cpus=0, scheduling_strategy=there)
        with suppress(exceptions.RayError):  # its host may be gone too
            ray.get(killing.remote(location.pid), timeout=KILL_SECONDS)

    def close(self) -> None:
        import ray
        from ray import exceptions

        while self._actors:
            _, actor = self._actors.popitem()
            with suppress(exceptions.RayError):
                ray.kill(actor)

    def _record_location(self, role: Role, location: Location) -> None:
        if role in self._locations:
            return
        kind, number = role
        self._locations[role], self._nodes[role] = location, location.node
        who = {"agents": self.agents_of(role)} if kind == AGENTS else {kind: number}
        where = {"pid": location.pid, "host": location.host}
        self.events.append({"code": EventCode.ACTOR_STARTED, **who, **where})


def _wait(references: list[Reference], seconds: float) -> list[Reference]:
    import ray

    if not references:  # Ray does not wait for nothing
        return []
    return ray.wait(references, num_returns=len(references), timeout=seconds)[0]


def _cause_of_death(problem: Exception) -> Exception:
    """`BadInput` if the actor refused its arguments, or the user's world failed in it at once."""
    text = str(problem)
    for mark in ("fmarl.errors.BadInput: ", "fmarl.user_code.UserCodeFailed: "):
        if mark in text:
            return BadInput(text.partition(mark)[2].splitlines()[0])
    text = " ".join(text.split())
    _, mark, why = text.rpartition("The actor is dead because ")
    return EngineFailed(f"an actor died: {(why.partition('. ')[0] if mark else why)[:200]}")


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
