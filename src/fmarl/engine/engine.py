"""What a run needs of the place where it runs: agents that act and learn, slot after slot.

There are two: `LocalEngine`, where all agents learn in this process, and the actors of
`fmarl.cluster`. Both give the same bits.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fmarl.algorithms.algorithm import Algorithm, Transitions
from fmarl.engine.course import Course
from fmarl.engine.experiment import Experiment
from fmarl.federation.update import TrainState
from fmarl.rollout.batch import Snapshot
from fmarl.worlds.world import WorldSpec


class EngineFailed(RuntimeError):  # noqa: N818 — it reads as what happened
    """An engine that has lost too much to go on. What was learned until then can be saved."""


class SlotResult(NamedTuple):
    """What a slot of all agents came to."""

    update_count: int
    """k: slots learned, this one included."""
    metrics: dict[str, float]
    bad_agents: list[int]
    """Whose step was not finite and was left out."""
    away: frozenset[int]
    """Who took no part in its period."""
    transitions: Transitions | None
    """What all agents lived through, where it was wanted."""
    state: TrainState | None
    """All that was learned by then, where it was wanted."""


class Wanted(NamedTuple):
    """What a run will ask of a slot, by the number of slots learned when it is over."""

    transitions: Callable[[int], bool]
    state: Callable[[int], bool]


class EngineState(NamedTuple):
    """A run at rest: what agents have learned, and where each world stands."""

    state: TrainState
    snapshots: list[Snapshot]


@runtime_checkable
class Engine(Protocol):
    """Where agents act and learn. Made for an experiment, then started, used and closed."""

    spec: WorldSpec
    """Shapes of one world."""

    def start(self, algorithm: Algorithm, course: Course) -> None:
        """Make ready to learn, all agents with the same parameters."""
        ...

    def advance(self, wanted: Wanted) -> list[SlotResult]:
        """Act and learn for as many slots as count together: all of them, or none."""
        ...

    def at_rest(self) -> EngineState:
        """Everything that a checkpoint must hold of the engine."""
        ...

    def restore(self, rest: EngineState) -> None:
        """Stand where a checkpoint was written."""
        ...

    def events(self) -> Sequence[dict[str, Any]]:
        """What happened since this was last called: facts with a `code`."""
        ...

    def close(self) -> None:
        """End all that was started; harmless when called twice."""
        ...


MakeEngine = Callable[[Experiment], Engine]
