"""Several steps of an optimiser, summed up as one direction that somebody else may apply."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float

from fmarl.algorithms.algorithm import Metrics, Tree

Gradient = Callable[[Tree, Tree], tuple[Tree, Metrics]]
"""`(parameters, batch)` to the gradient there, and numbers worth plotting."""


class Descent(NamedTuple):
    """How far some parameters have come."""

    parameters: Tree
    optimiser: Tree
    """State of the optimiser."""
    directions: Tree
    """Sum of all steps' directions so far.

    This is what is handed over, rather than the way that was gone divided by its step size, which
    would lose bits: one step of plain SGD hands over its gradient, bit for bit.
    """


def descend(
    rule: optax.GradientTransformation,
    gradient: Gradient,
    step_size: float | Float[Array, ""],
    parameters: Tree,
    optimiser: Tree,
    batches: Tree,
    num_steps: int,
) -> tuple[Descent, dict[str, Float[Array, " step"]]]:
    """Take one step per batch (the batches' first axis), each from where the last one led.

    Paper: Eq. (1).  θ_{k+1} = θ_k − η ∇L, or the optimiser's direction in place of ∇L.

    Where `batches` is None, so is each batch. The metrics are those of every step.
    """
    start = Descent(parameters, optimiser, jax.tree.map(jnp.zeros_like, parameters))
    step = partial(_step, rule, gradient, step_size)
    return jax.lax.scan(step, start, batches, length=num_steps)


def _step(
    rule: optax.GradientTransformation,
    gradient: Gradient,
    step_size: float | Float[Array, ""],
    now: Descent,
    batch: Tree,
) -> tuple[Descent, Metrics]:
    slope, metrics = gradient(now.parameters, batch)
    direction, optimiser = rule.update(slope, now.optimiser, now.parameters)
    parameters = jax.tree.map(lambda old, way: old - step_size * way, now.parameters, direction)
    directions = jax.tree.map(jnp.add, now.directions, direction)
    return Descent(parameters, optimiser, directions), metrics


def choose(condition: Bool[Array, ""], one: Tree, other: Tree) -> Tree:
    """One tree or the other, as a whole."""
    return jax.tree.map(partial(jnp.where, condition), one, other)
