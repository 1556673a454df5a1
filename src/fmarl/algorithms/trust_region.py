"""The longest step along the natural gradient that a bound on the divergence allows.

Nothing here knows of policies: a model gives outputs, some outputs are better, and those of the
step must not be too far from those of the start.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Bool, Float, Int

from fmarl.algorithms.algorithm import Tree
from fmarl.algorithms.multi_step import choose

Scalar = Float[Array, ""]


class Region(NamedTuple):
    """What is sought, and how far."""

    model: Callable[[Tree], Tree]
    """From a point to outputs."""
    gain: Callable[[Tree], Scalar]
    """Of outputs: what to increase."""
    divergence: Callable[[Tree], Scalar]
    """Of outputs: how far from those of the start, where it is zero and flat."""
    radius: float
    """The largest divergence allowed."""


class LineSearchStep(NamedTuple):
    """A step of a line search."""

    length: Scalar
    """As a multiple of the direction."""
    is_safe: Bool[Array, ""]
    """Whether it increases the gain and stays inside the region."""
    gain: Scalar
    """Where it leads."""
    divergence: Scalar
    """Between there and the start."""


SearchState = tuple[Int[Array, ""], LineSearchStep]
"""How many steps were tried, and the last of them."""


def curvature_product(region: Region, point: Tree, damping: float) -> Callable[[Tree], Tree]:
    """Multiplication by the divergence's Hessian at the start, plus `damping` times the identity.

    The Hessian is never built: with the model's Jacobian J it is Jᵀ H J, where H is that of the
    divergence by the outputs. (The chain rule's other term is zero where the divergence is flat.)
    For a Kullback–Leibler divergence it is Fisher's information.
    """
    outputs, push = jax.linearize(region.model, point)
    pull = jax.linear_transpose(push, point)
    _, bend = jax.linearize(jax.grad(region.divergence), outputs)

    def product(vector: Tree) -> Tree:
        (bent,) = pull(bend(push(vector)))
        return jax.tree.map(lambda leaf, own: leaf + damping * own, bent, vector)

    return product


def natural_direction(
    region: Region, point: Tree, gradient: Tree, cg_steps: int, damping: float
) -> Tree:
    """Solve H s = gradient by conjugate gradients, then scale s to the region's edge.

    To second order a step s diverges by sᵀHs/2, so √(2 radius / sᵀHs) s reaches the edge.
    """
    product = curvature_product(region, point, damping)
    direction, _ = cg(product, gradient, maxiter=cg_steps)
    bend = _dot(direction, product(direction))
    scale = jnp.sqrt(2 * region.radius / jnp.where(bend > 0, bend, 1.0))
    return jax.tree.map(lambda leaf: scale * leaf, direction)


def line_search(
    region: Region, point: Tree, direction: Tree, shrink: float, tries: int
) -> LineSearchStep:
    """Try shorter and shorter steps until one is safe; if none is, the step has length zero."""
    start = region.gain(region.model(point))
    none = jnp.zeros_like(start)
    nowhere = LineSearchStep(none, jnp.zeros((), bool), start, none)

    def goes_on(state: SearchState) -> Bool[Array, ""]:
        tried, last = state
        return ~last.is_safe & (tried < tries)

    def try_next(state: SearchState) -> SearchState:
        tried, _ = state
        length = shrink ** tried.astype(start.dtype)
        outputs = region.model(
            jax.tree.map(lambda here, way: here + length * way, point, direction)
        )
        gain, divergence = region.gain(outputs), region.divergence(outputs)
        is_safe = (divergence < region.radius) & (gain > nowhere.gain)
        return tried + 1, LineSearchStep(length, is_safe, gain, divergence)

    _, last = jax.lax.while_loop(goes_on, try_next, (jnp.zeros((), jnp.int32), nowhere))
    return choose(last.is_safe, last, nowhere)


def _dot(one: Tree, other: Tree) -> Scalar:
    products = jax.tree.map(lambda left, right: jnp.sum(left * right), one, other)
    return jax.tree.reduce(jnp.add, products)
