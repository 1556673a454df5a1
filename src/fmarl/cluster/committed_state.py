"""A run as it stood when its last period was over: what everybody can be sent back to."""

from collections.abc import Collection, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.algorithm import Acting
from fmarl.cluster.agent_state import (
    SHARED,
    Arrays,
    Packed,
    Self,
    selves_of,
    shared_row,
    state_of,
    taken_in,
    unpacked,
)
from fmarl.cluster.upload import PARAMETERS, digest_of
from fmarl.engine.compiled import Program
from fmarl.engine.engine import EngineState
from fmarl.federation.delayed import InFlight
from fmarl.rollout.batch import Snapshot


class Kept:
    """What the conductor keeps of all agents and worlds, so that no host has the only copy."""

    def __init__(self, program: Program, rest: EngineState) -> None:
        self._program = program
        self.update_count, self._mail = int(rest.learned.update_count), rest.learned.mail
        self.selves, self.snapshots = selves_of(rest.learned), list(rest.snapshots)
        """All agents, and where each world stands."""
        self._structure = jax.tree.structure(self.selves[0].memory)
        self.before = self.selves
        """All agents when the last period began."""
        self._averages: list[Arrays] | None = None

    def commit(
        self,
        update_count: int,
        handed_in: Mapping[int, Packed],
        averages: list[Arrays] | None,
        post: list[np.ndarray] | None,
        snapshots: Sequence[Snapshot],
    ) -> None:
        """A period is over and counts. Those who handed in nothing are as they were."""
        left = self.with_changes(self.selves, handed_in)
        self.before, self._averages = self.selves, averages
        self._mail = self._mail if post is None else InFlight(*map(jnp.asarray, post))
        self.selves = [
            taken_in(self._program, own, self.average_of(agent)) for agent, own in enumerate(left)
        ]
        self.update_count, self.snapshots = update_count, list(snapshots)

    def with_changes(self, selves: Sequence[Self], changed: Mapping[int, Packed]) -> list[Self]:
        """Agents, some of whom have been sent anew."""
        return [
            unpacked(changed[agent], self._structure) if agent in changed else own
            for agent, own in enumerate(selves)
        ]

    @property
    def post(self) -> list[np.ndarray] | None:
        """What is under way, to be sent; None without delays."""
        return None if self._mail is None else jax.device_get(jax.tree.leaves(self._mail))

    def average_of(self, agent: int) -> Arrays | None:
        """What an agent that handed itself in is to take in to be as it is kept; None: nothing."""
        return None if self._averages is None else self._averages[agent]

    def rest(self) -> EngineState:
        """The run, as a checkpoint holds it."""
        return EngineState(state_of(self.selves, self.update_count, self._mail), self.snapshots)

    def acting(self, agent: int) -> Acting:
        """What an agent that is away acts with: it is still driven by what it last was."""
        return jax.device_get(self._program.act(*self.selves[agent]))

    def starts(self, agents: Collection[int], shared: bool) -> dict[int, Arrays]:
        """What some agents count as in an average if nothing is heard of them."""
        found: dict[int, Arrays] = {}
        for agent in agents:
            own = self.selves[agent]
            found[agent] = {PARAMETERS: own.row}
            row = shared_row(self._program, own.memory) if shared else None
            if row is not None:
                found[agent][SHARED] = row
        return found

    def bases(self) -> tuple[str, ...]:
        """Digests of what everybody starts from."""
        return tuple(digest_of({PARAMETERS: own.row}) for own in self.selves)
