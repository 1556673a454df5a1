"""The state of an agent, and the committed state of a run that every process can return to."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.algorithm import Acting
from fmarl.cluster.inbox import PARAMETERS, Receipt, digest_of
from fmarl.engine.compiled import Program
from fmarl.engine.engine import EngineState
from fmarl.federation.delayed import InFlight
from fmarl.federation.update import TrainState, stacked, unstacked
from fmarl.rollout.batch import Snapshot

Arrays = dict[str, np.ndarray]
SHARED = "shared"
"""What is averaged of an agent's memory beside its parameters, as one row."""


class AgentState(NamedTuple):
    """One agent: nothing but arrays, so that it can be sent.

    Equinox remembers every record that was unpickled for as long as the process lives.
    """

    row: np.ndarray
    memory: list[np.ndarray]
    """The leaves of its memory, whose structure is the same for all agents of a run."""


class AgentFunctions(NamedTuple):
    """The compiled functions of one agent, on an `AgentState`."""

    program: Program
    structure: Any
    """Of an agent's memory."""

    def memory(self, state: AgentState) -> Any:
        return jax.tree.unflatten(self.structure, state.memory)

    def acting(self, state: AgentState) -> Acting:
        return jax.device_get(self.program.act(state.row, self.memory(state)))

    def upload_arrays(self, state: AgentState) -> Arrays:
        """What the virtual agent averages."""
        rows = self.program.stages.shared(self._as_batch(state))
        return {PARAMETERS: state.row, **({} if rows is None else {SHARED: np.asarray(rows[0])})}

    def adopt(self, state: AgentState, average: Arrays | None) -> AgentState:
        """The agent after an average; unchanged if there was none."""
        if average is None:
            return state
        memory = state.memory
        if SHARED in average:
            row = jnp.asarray(average[SHARED])[None]
            adopted = self.program.stages.adopt(self._as_batch(state), row)
            memory = jax.device_get([leaf[0] for leaf in jax.tree.leaves(adopted)])
        return AgentState(average[PARAMETERS], memory)

    def _as_batch(self, state: AgentState) -> Any:
        """The memory as that of all agents of which there is one."""
        return jax.tree.map(lambda leaf: np.asarray(leaf)[None], self.memory(state))


def agents_of(state: TrainState) -> list[AgentState]:
    """The agents of a run, one by one."""
    parts = jax.device_get((state.parameters, jax.tree.leaves(state.memory)))
    return [AgentState(*own) for own in unstacked(parts, len(state.parameters))]


class AggregationResult(NamedTuple):
    """What came of the uploads of a period."""

    receipts: list[tuple[int, Receipt]]
    """One for each upload, with the agent whose actor sent it."""
    outliers: list[int]
    averages: list[Arrays] | None
    """What each agent continues with; None if an upload is missing or was refused."""
    in_flight: list[np.ndarray] | None
    """Delayed messages after it: the arrays of `InFlight`."""


class CommittedState:
    """All agents and worlds after the last period, kept by the driver: no host has the only one."""

    def __init__(self, program: Program, engine_state: EngineState) -> None:
        state = engine_state.learned
        self.functions = AgentFunctions(program, jax.tree.structure(state.memory))
        self.update_count, self._mail = int(state.update_count), state.mail
        self.agents, self.snapshots = agents_of(state), list(engine_state.snapshots)
        self.before = self.agents
        """All agents when the last period began."""
        self._averages: list[Arrays] | None = None

    def commit(
        self,
        update_count: int,
        final: Mapping[int, AgentState],
        aggregation: AggregationResult | None,
        snapshots: Sequence[Snapshot],
    ) -> None:
        """A period is over and counts. Agents without a final state did not change."""
        self.before, self._averages = self.agents, aggregation and aggregation.averages
        if aggregation is not None and aggregation.in_flight is not None:
            self._mail = InFlight(*map(jnp.asarray, aggregation.in_flight))
        self.agents = [
            self.functions.adopt(final.get(agent, own), self.average_of(agent))
            for agent, own in enumerate(self.agents)
        ]
        self.update_count, self.snapshots = update_count, list(snapshots)

    @property
    def in_flight(self) -> list[np.ndarray] | None:
        """Delayed messages, to be sent; None without delays."""
        return None if self._mail is None else jax.device_get(jax.tree.leaves(self._mail))

    def average_of(self, agent: int) -> Arrays | None:
        """What an agent has to adopt after its final state to be as committed; None: nothing."""
        return None if self._averages is None else self._averages[agent]

    def engine_state(self) -> EngineState:
        """The run, as a checkpoint holds it."""
        state = self._train_state(self.agents, self.update_count, self._mail)
        return EngineState(state, self.snapshots)

    def within_period(self, changed: Mapping[int, AgentState], update_count: int) -> TrainState:
        """The run after so many slots, within the last period; absent agents had not moved."""
        agents = [changed.get(agent, own) for agent, own in enumerate(self.before)]
        return self._train_state(agents, update_count, None)

    def _train_state(
        self, agents: Sequence[AgentState], update_count: int, mail: InFlight | None
    ) -> TrainState:
        rows, leaves = stacked([tuple(own) for own in agents])
        memory = jax.tree.unflatten(self.functions.structure, leaves)
        return TrainState(jnp.asarray(rows), memory, jnp.asarray(update_count, jnp.int32), mail)

    def starts(self, agents: Collection[int], shared: bool) -> dict[int, Arrays]:
        """What some agents count as in an average if they upload nothing."""
        if not shared:
            return {agent: {PARAMETERS: self.agents[agent].row} for agent in agents}
        return {agent: self.functions.upload_arrays(self.agents[agent]) for agent in agents}

    def bases(self) -> tuple[str, ...]:
        """Digests of the parameters that agents start from."""
        return tuple(digest_of({PARAMETERS: own.row}) for own in self.agents)
