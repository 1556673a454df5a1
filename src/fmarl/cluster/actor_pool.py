"""The actors of a run: hired, asked where they are, and buried when they are lost."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from fmarl.cluster.agent_actor import Household
from fmarl.cluster.faults.plan import FaultPlan
from fmarl.cluster.hosts import hosts, roomiest
from fmarl.cluster.run_context import Charge, Place
from fmarl.cluster.virtual_agent import VirtualAgent
from fmarl.cluster.world_actor import Stage
from fmarl.engine.engine import EngineFailed

Role = tuple[str, int]
"""`("house", 3)`, `("world", 0)` or `("virtual", 0)`."""
VIRTUAL: Role = ("virtual", 0)
BURY_SECONDS = 5.0


class Heard(NamedTuple):
    """What came of asking actors where they are."""

    answers: dict[Role, Any]
    dead: dict[Role, Exception]
    """With the reason: `BadInput` of one that refused the work."""
    silent: list[Role]


class Cast:
    """Who plays which role, and in which process. Made inside a cluster."""

    def __init__(self, plan: FaultPlan, agents_per_actor: int, start_seconds: float) -> None:
        self._plan, self._start_seconds = plan, start_seconds
        self._per_house = agents_per_actor
        self._actors: dict[Role, Any] = {}
        self._places: dict[Role, Place] = {}
        self._nodes: dict[Role, str] = {}
        """Where each was sent, or was seen."""
        self._lost_at: dict[Role, str] = {}
        self._hired_at: dict[Role, float] = {}
        self._residents: dict[Role, list[int]] = {}
        self.events: list[dict[str, Any]] = []

    def house(self, agent: int) -> Role:
        """Where an agent lives."""
        return ("house", agent // self._per_house)

    def members(self, role: Role, num_agents: int) -> list[int]:
        """The agents of a house; nobody for other roles."""
        kind, number = role
        start = number * self._per_house
        return list(range(num_agents))[start : start + self._per_house] if kind == "house" else []

    @property
    def roles(self) -> list[Role]:
        """All that are filled."""
        return list(self._actors)

    @property
    def worlds(self) -> list[int]:
        """Numbers of the worlds, in order."""
        return sorted(number for kind, number in self._actors if kind == "world")

    def ask(self, role: Role, what: str, *given: Any, returns: int = 1) -> Any:
        """Call a method of an actor: a reference to its result, or to each of several."""
        return getattr(self._actors[role], what).options(num_returns=returns).remote(*given)

    def ask_agent(
        self, agent: int, what: str, given: tuple[Any, ...], *references: Any, returns: int = 1
    ) -> Any:
        """Call a method of an agent, with what is at hand and then with what others will bring."""
        # What is at hand goes as one: Ray packs and unpacks every argument apart.
        call = (agent, what, given)
        return self.ask(self.house(agent), "ask", call, *references, returns=returns)

    def hire(self, role: Role, charge: Charge, num_agents: int = 0) -> None:
        """Start an actor; it may take a while until it answers."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        host = roomiest(hosts(), Counter(self._nodes.values()), self._lost_at.get(role, ""))
        self._nodes[role], self._hired_at[role] = host.node_id, time.monotonic()
        maker, given = self._part(role, charge, num_agents)
        # Not softly, or Ray sends an actor that claims no CPU anywhere.
        there = NodeAffinitySchedulingStrategy(host.node_id, soft=False)
        # No CPU is claimed: actors wait for each other most of the time. Calls need not come in
        # order (each waits for what it is given), so that one that hangs holds up no other.
        hired = ray.remote(maker).options(
            num_cpus=0,
            scheduling_strategy=there,
            max_restarts=0,
            allow_out_of_order_execution=True,
        )
        self._actors[role] = hired.remote(*given)

    def _part(self, role: Role, charge: Charge, num_agents: int) -> tuple[Callable[..., Any], Any]:
        """The class behind a role, and what it is made with."""
        kind, number = role
        if kind == "house":
            agents = self._residents[role] = self.members(role, num_agents)
            return Household, (agents, charge, [self._plan.of_agent(agent) for agent in agents])
        if kind == "world":
            return Stage, (number, charge, self._plan.of_world(number))
        return VirtualAgent, (charge, self._plan.of_virtual())

    def await_start(self, roles: Sequence[Role]) -> dict[Role, Any]:
        """Wait until actors answer, and return what they say of themselves.

        `BadInput` of one that refuses; `EngineFailed` if one does not come up in time.
        """
        heard = self.call(roles, self._start_seconds)
        for problem in heard.dead.values():
            raise problem
        if heard.silent:
            names = ", ".join(" ".join(map(str, role)) for role in heard.silent)
            raise EngineFailed(
                f"{names} did not start within {self._start_seconds:g} s on the cluster. "
                "Does `ray status` show room? Go on later with `fmarl resume`."
            )
        return heard.answers

    def call(self, roles: Sequence[Role], seconds: float) -> Heard:
        """Ask actors where they are, and wait so long for their answers."""
        import ray
        from ray import exceptions

        asked = {role: self.ask(role, "place") for role in roles}
        heard = Heard({}, {}, [])
        ready, _ = _waited(list(asked.values()), seconds)
        for role, reference in asked.items():
            if reference not in ready:
                heard.silent.append(role)
                continue
            try:
                heard.answers[role] = ray.get(reference)
                self._remember(role, heard.answers[role])
            except (exceptions.RayActorError, exceptions.ActorUnschedulableError) as problem:
                heard.dead[role] = refusal_in(problem)
        return heard

    def is_overdue(self, role: Role) -> bool:
        """Whether an actor should have started long ago."""
        return time.monotonic() - self._hired_at[role] > self._start_seconds

    def bury(self, role: Role) -> None:
        """End an actor's process, even one that has been stopped and can not hear of it."""
        import ray
        from ray import exceptions
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor, place = self._actors.pop(role, None), self._places.pop(role, None)
        self._lost_at[role] = self._nodes.pop(role, "")
        if actor is None:
            return
        ray.kill(actor)
        if place is None:
            return
        there = NodeAffinitySchedulingStrategy(place.node, soft=False)
        killing = ray.remote(_kill).options(num_cpus=0, scheduling_strategy=there)
        with suppress(exceptions.RayError):  # its host may be gone too
            ray.get(killing.remote(place.pid), timeout=BURY_SECONDS)

    def close(self) -> None:
        """End all."""
        import ray
        from ray import exceptions

        for role in self.roles:
            actor = self._actors.pop(role)
            with suppress(exceptions.RayError):
                ray.kill(actor)

    def _remember(self, role: Role, answer: Any) -> None:
        place: Place = answer[0] if role[0] == "world" else answer
        if role in self._places:
            return
        self._places[role], self._nodes[role] = place, place.node
        kind, number = role
        who = {"agents": self._residents[role]} if kind == "house" else {kind: number}
        where = {"pid": place.pid, "host": place.host}
        self.events.append({"code": "ACTOR_STARTED", **who, **where})


def refusal_in(problem: Exception) -> Exception:
    """Why an actor is dead: `BadInput` if it was given something that it can not work with."""
    text = str(problem)
    mark = "fmarl.errors.BadInput: "
    if mark in text:
        from fmarl.errors import BadInput

        return BadInput(text.partition(mark)[2].splitlines()[0])
    return EngineFailed(f"an actor died: {_reason(problem)}")


def _waited(references: list[Any], seconds: float) -> tuple[list[Any], list[Any]]:
    """What is there by then, and what is not."""
    import ray

    if not references:  # Ray does not wait for nothing
        return [], []
    return ray.wait(references, num_returns=len(references), timeout=seconds)


def _reason(problem: Exception) -> str:
    """What Ray says of it, without the names that only Ray knows."""
    text = " ".join(str(problem).split())
    _, mark, why = text.rpartition("The actor is dead because ")
    return (why.partition(". ")[0] if mark else why)[:200]


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
