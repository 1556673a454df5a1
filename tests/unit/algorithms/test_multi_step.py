"""Several steps of an optimiser, handed over as one direction."""

import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.multi_step import descend
from fmarl.algorithms.optimisers import optimiser

START = jnp.array([1.0, -2.0], jnp.float32)
TARGETS = jnp.array([[0.0, 0.0], [1.0, 1.0], [3.0, -1.0]], jnp.float32)


def _gradient(parameters, target):
    return parameters - target, {"loss": jnp.sum((parameters - target) ** 2) / 2}


def test_plain_descent_is_the_paper_s_step_again_and_again():
    """Eq. (1), by hand: θ ← θ − η ∇L, once per batch."""
    rule = optimiser("sgd")
    end, reports = descend(rule, _gradient, 0.5, START, rule.init(START), TARGETS, 3)
    theta, total = np.array(START), np.zeros(2)
    for target in np.asarray(TARGETS):
        slope = theta - target
        theta, total = theta - 0.5 * slope, total + slope
    np.testing.assert_allclose(end.parameters, theta, rtol=1e-6)
    np.testing.assert_allclose(end.directions, total, rtol=1e-6)
    assert reports["loss"].shape == (3,)


def test_one_plain_step_hands_over_its_gradient_bit_for_bit():
    rule = optimiser("sgd")
    end, _ = descend(rule, _gradient, 1e-4, START, rule.init(START), TARGETS[:1], 1)
    assert np.array_equal(end.directions, START - TARGETS[0])


def test_whoever_applies_the_directions_ends_where_the_optimiser_did():
    rule = optimiser("adam")
    end, _ = jax.jit(
        lambda start: descend(rule, _gradient, 0.1, start, rule.init(start), TARGETS, 3)
    )(START)
    np.testing.assert_allclose(START - 0.1 * end.directions, end.parameters, rtol=1e-6)
