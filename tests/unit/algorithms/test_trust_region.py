"""A quadratic divergence and a linear gain, of which the best step is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.algorithms.trust_region import (
    Region,
    curvature_product,
    line_search,
    natural_direction,
)

START = jnp.array([0.5, -1.0, 2.0])
SLOPE = jnp.array([1.0, 2.0, -0.5])
JACOBIAN = jnp.array([[1.0, 0.2, 0.0], [0.0, 2.0, 0.3], [0.1, 0.0, 0.5]])
HESSIAN = np.asarray(JACOBIAN.T @ JACOBIAN, np.float64)


def model(point: jax.Array) -> jax.Array:
    return JACOBIAN @ point


def region(radius: float = 0.02, sign: float = 1.0) -> Region:
    """Gain is SLOPE · point, or its opposite; divergence is half the squared way of the outputs."""
    back = jnp.linalg.inv(JACOBIAN)
    return Region(
        model=model,
        gain=lambda outputs: sign * (SLOPE @ (back @ outputs)),
        divergence=lambda outputs: 0.5 * jnp.sum((outputs - model(START)) ** 2),
        radius=radius,
    )


def test_the_product_is_with_the_damped_hessian():
    vector = jnp.array([1.0, -2.0, 3.0])
    product = curvature_product(region(), START, damping=0.5)(vector)
    np.testing.assert_allclose(product, HESSIAN @ vector + 0.5 * vector, rtol=1e-5)


def test_the_direction_ends_at_the_edge_where_the_gain_is_largest():
    """√(2 radius / gᵀH⁻¹g) H⁻¹ g, by Lagrange."""
    ours = natural_direction(region(), START, SLOPE, cg_steps=20, damping=0.0)
    solved = np.linalg.solve(HESSIAN, np.asarray(SLOPE, np.float64))
    expected = np.sqrt(2 * 0.02 / (SLOPE @ solved)) * solved
    np.testing.assert_allclose(ours, expected, rtol=1e-4)
    np.testing.assert_allclose(region().divergence(model(START + ours)), 0.02, rtol=1e-4)


def test_without_a_gradient_there_is_no_direction():
    ours = natural_direction(region(), START, jnp.zeros(3), cg_steps=5, damping=0.1)
    assert ours.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("times", "shrinks"), [(0.9, 0), (1.1, 1), (3.0, 5)])
def test_the_first_safe_length_is_taken(times, shrinks):
    direction = natural_direction(region(), START, SLOPE, cg_steps=20, damping=0.0)
    found = line_search(region(), START, times * direction, shrink=0.8, tries=10)
    assert found.is_safe
    assert found.length == pytest.approx(0.8**shrinks, rel=1e-6)
    assert found.divergence == pytest.approx(0.02 * (times * 0.8**shrinks) ** 2, rel=1e-3)
    assert found.gain > region().gain(model(START))


@pytest.mark.parametrize(
    ("bad_region", "tries"), [(region(sign=-1.0), 10), (region(radius=1e-7), 3)]
)
def test_without_a_safe_length_the_step_has_none(bad_region, tries):
    found = line_search(bad_region, START, 0.1 * SLOPE, shrink=0.8, tries=tries)
    assert not found.is_safe
    assert found.length == 0 and found.divergence == 0
    assert found.gain == bad_region.gain(model(START))
