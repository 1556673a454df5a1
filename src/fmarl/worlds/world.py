"""What a world is: a place where several agents act at once, the same for roads, games and toys.

A world is deterministic: the same seed and the same actions give the same bits, in any process.
That is what checkpoints and recovery rest on: a world is restored by playing its epoch again.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32

Observation = Float32[np.ndarray, "agent observation"]
Action = Float32[np.ndarray, "agent action"]


@dataclass(frozen=True, kw_only=True)
class WorldSpec:
    """The shapes that learners need to know, and nothing else about a world."""

    name: str
    """The word that makes it on the command line, such as `figure-eight` or `gym:CartPole-v1`."""
    num_agents: int
    """m: agents that act, each with its own row in every array."""
    observation_size: int
    """Numbers that one agent sees."""
    num_actions: int
    """Continuous: numbers per action, each from −1 to 1. Discrete: choices."""
    is_discrete: bool = False
    """Whether an action is one choice, given as a whole number in an array of one column."""
    epoch_steps: int
    """T: steps after which an epoch ends for all agents, if nothing ended it before."""

    @property
    def action_size(self) -> int:
        """Columns of the action array."""
        return 1 if self.is_discrete else self.num_actions


class Step(NamedTuple):
    """What one step of a world gives to each agent (one row each)."""

    observation: Observation
    """What to act on next; after an agent's own restart, the first observation of its new epoch."""
    successor: Observation
    """What the action led to: the same, except where an agent restarted."""
    reward: Float32[np.ndarray, " agent"]
    present: Bool[np.ndarray, " agent"]
    """Whether the agent was there to act. Rows of absent agents are zero, except the observation of
    one that is back in the next step."""
    terminated: Bool[np.ndarray, " agent"]
    """Its epoch ended for good, as by a collision: nothing follows, so nothing is bootstrapped."""
    truncated: Bool[np.ndarray, " agent"]
    """Its epoch was cut off, as by a time limit: the future is worth what it is estimated at.
    Never together with `terminated`."""
    over: bool
    """The epoch is over for all: call `reset` before the next step."""


class Networks(NamedTuple):
    """One network per agent, stacked, for a world that plays with them by itself."""

    weights: tuple[Float32[np.ndarray, "agent _ _"], ...]
    """From inputs (second axis) to outputs (third), one array per layer."""
    biases: tuple[Float32[np.ndarray, "agent _"], ...]
    activation: str


@runtime_checkable
class World(Protocol):
    """A place to act in. Made by a function, used inside a `with`, closed on every path."""

    @property
    def spec(self) -> WorldSpec: ...

    def reset(self, seed: int) -> Observation:
        """Begin an epoch; everything random in it derives from the seed."""
        ...

    def step(self, action: Action) -> Step:
        """Let every agent act once.

        Raises `BadInput` on actions that are not finite, and outside an epoch; the world then stays
        as it was.
        """
        ...

    def frame(self) -> Float32[np.ndarray, "thing 3"] | None:
        """What to draw now, one row (x, y, speed) per thing, the agents first; None if nothing.

        An absent agent's row is not a number.
        """
        ...

    def close(self) -> None:
        """Give back processes and files; harmless when called twice."""
        ...

    def __enter__(self) -> "World": ...

    def __exit__(self, *problem: object) -> None: ...


@runtime_checkable
class PlaysNetworks(Protocol):
    """A world that can also play many steps in one call, which is faster."""

    def play_steps(
        self,
        networks: Networks,
        noise: Float32[np.ndarray, "time agent action"],
        observation: Float32[np.ndarray, "time agent observation"],
        action: Float32[np.ndarray, "time agent action"],
        successor: Float32[np.ndarray, "time agent observation"],
        reward: Float32[np.ndarray, "time agent"],
    ) -> tuple[int, Step]:
        """Play as long as there is noise to add to the networks' outputs, or the epoch lasts.

        Returns how many steps it were, and the last one. The first row of `observation` is what to
        begin with; the other rows and arrays are filled in. With the same actions `step` leads to
        the same bits; the actions themselves may differ in their last bits from those of
        `rollout.policy`.
        """
        ...
