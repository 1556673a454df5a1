import math
from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.algorithms.tsallis import (
    LARGEST_POWER,
    SMALLEST_DENSITY,
    q_logarithm,
    tsallis_entropy,
)
from oracles.tsallis import q_exponential

NEAR_ONE = (1 - 1e-4, 1 - 1e-7, 1 + 1e-12, 1 + 1e-7, 1 + 1e-4)
INDICES = (0.1, 0.5, 0.9, *NEAR_ONE, 1.2, 1.5, 2.0, 3.0, 5.0)


def exact_q_logarithm(log_density, index):
    """(x^(q−1) − 1)/(q−1) in fifty digits, where nothing cancels."""
    with localcontext() as context:
        context.prec = 50
        order = Decimal(index) - 1
        return float(((order * Decimal(log_density)).exp() - 1) / order)


@pytest.mark.parametrize("index", INDICES)
def test_the_q_logarithm_has_no_error_beyond_rounding(index):
    highest = min(15.0, math.log(LARGEST_POWER) / (index - 1)) if index > 1 else 15.0
    log_densities = np.linspace(-13.5, 0.999 * highest, 41, dtype=np.float32)

    found = q_logarithm(jnp.asarray(log_densities), index)

    expected = [exact_q_logarithm(float(log_density), index) for log_density in log_densities]
    np.testing.assert_allclose(found, expected, rtol=4e-6, atol=1e-7)


def test_with_index_one_it_is_the_logarithm_without_limits():
    log_densities = jnp.array([-1e6, -20.0, 0.0, 1e6])
    np.testing.assert_array_equal(q_logarithm(log_densities, 1.0), log_densities)


@pytest.mark.parametrize("index", INDICES)
def test_outside_its_limits_the_q_logarithm_stands_still(index):
    far = jnp.array([-1e30, -20.0, 1e30])

    values, slopes = jax.vmap(jax.value_and_grad(lambda row: q_logarithm(row, index)))(far)

    lowest = exact_q_logarithm(math.log(SMALLEST_DENSITY), index)
    np.testing.assert_allclose(values[:2], lowest, rtol=1e-5)
    assert (slopes[:2] == 0).all()
    assert jnp.isfinite(values).all()
    if index > 1:
        assert values[2] == pytest.approx((LARGEST_POWER - 1) / (index - 1), rel=1e-4)
        assert slopes[2] == 0


def test_the_q_exponential_is_zero_or_infinite_where_no_power_exists():
    np.testing.assert_array_equal(q_exponential(jnp.array([-2.0, -0.5]), 3.0), [0, 0])
    np.testing.assert_array_equal(q_exponential(jnp.array([2.0, 100.0]), 0.5), [jnp.inf, jnp.inf])


@pytest.mark.parametrize("index", [0.5, 1.5, 3.0])
def test_the_gradient_of_the_q_exponential_is_finite_where_it_is_zero(index):
    slope = jax.vmap(jax.grad(lambda x: q_exponential(x, index)))(jnp.array([-9.0, 0.0]))
    assert jnp.isfinite(slope).all()
    assert slope[1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("index", "entropy"),
    [(0.5, lambda n: 2 * (n**0.5 - 1)), (1.0, np.log), (2.0, lambda n: 1 - 1 / n)],
)
@pytest.mark.parametrize("choices", [2, 7])
def test_uniform_choices_have_the_entropy_known_in_closed_form(index, entropy, choices):
    shares = jnp.full(choices, 1 / choices)
    found = tsallis_entropy(jnp.log(shares), shares, index)
    assert found == pytest.approx(entropy(choices), rel=1e-5)
