"""What an algorithm is: a few pure functions for one agent; the engine maps them over agents.

An algorithm hands over a *pseudo-gradient* g instead of changing its parameters itself, because
decay and neighbour exchange act on what is exchanged: whoever applies it does θ ← θ − η g. For one
pass of plain SGD, g is the gradient; for several passes, Adam, TRPO or TAC it is the sum of their
steps divided by η.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float, PRNGKeyArray

Tree = Any
"""Nested tuples and records of arrays, as JAX maps over them."""
Metrics = dict[str, Float[Array, ""]]


class Transitions(eqx.Module):
    """What one agent lived through in a slot, in order of time.

    Paper: Eq. (2).  φ_t = ⟨s_t, a_t, r_t, s_{t+1}⟩

    The engine stacks agents as a second axis, and slots of a sample set before the first.
    """

    observation: Float[Array, "*time observation"]
    successor: Float[Array, "*time observation"]
    """What the action led to; never an observation after a reset."""
    action: Float[Array, "*time action"]
    reward: Float[Array, "*time"]
    present: Bool[Array, "*time"]
    """Whether the agent was there; other rows are zeros and must count for nothing."""
    terminated: Bool[Array, "*time"]
    """Its epoch ended for good: nothing follows."""
    ended: Bool[Array, "*time"]
    """Its epoch ended, for good or by a time limit: the next row belongs to another epoch."""


class Acting(NamedTuple):
    """What is needed to act, for a worker without JAX: the layers of a network."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]
    log_std: Float[Array, " choice"]


class Algorithm(NamedTuple):
    """How one agent learns. The same functions serve every agent, method and engine."""

    init: Callable[[PRNGKeyArray], tuple[Tree, Tree]]
    """The parameters that agents share and exchange, and the memory each keeps for itself."""
    local_update: Callable[..., tuple[Tree, Tree, Metrics]]
    """`(parameters, memory, transitions, key, learning_rate)` to pseudo-gradient, new memory and
    numbers worth plotting. Nothing in it knows whether the step will be applied."""
    gradient: Callable[..., Tree]
    """`(parameters, memory, transitions, key)` to the gradient of the loss at these parameters."""
    acting: Callable[[Tree, Tree], Acting]
    """`(parameters, memory)` to what a worker acts with."""
    merge_memory: Callable[[Tree, Callable[[Tree], Tree]], Tree]
    """`(memories of all agents, average)`: what becomes of the memories when the parameters are
    averaged. `average` maps a tree with a leading agent axis to its averaged rows."""
    explores: str
    """Word of the policy that acts in training, such as `sampled`."""
    exploits: str
    """Word of the policy that acts in tests."""
    activation: str
    """How the layers bend, such as `tanh`."""
    random_updates: int
    """Updates at the start in which agents act at random, to fill a replay memory."""
