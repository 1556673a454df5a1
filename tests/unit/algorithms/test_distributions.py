import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from fmarl.algorithms.distributions import CATEGORICAL, GAUSSIAN, PolicyOutputs

NOTHING = jnp.zeros(0)


@pytest.fixture(scope="module")
def gaussian() -> PolicyOutputs:
    means = jax.random.normal(jax.random.key(0), (5, 3))
    return PolicyOutputs(means, jnp.array([-1.0, 0.0, 0.7]))


@pytest.fixture(scope="module")
def categorical() -> PolicyOutputs:
    return PolicyOutputs(2 * jax.random.normal(jax.random.key(1), (5, 4)), NOTHING)


def test_a_gaussian_is_scipys(gaussian: PolicyOutputs):
    action = jax.random.normal(jax.random.key(2), (5, 3))
    means, stds = np.asarray(gaussian.outputs), np.exp(gaussian.log_std)
    expected = stats.norm.logpdf(np.asarray(action), means, stds).sum(axis=1)
    entropy = stats.norm.entropy(means, stds).sum(axis=1)
    np.testing.assert_allclose(GAUSSIAN.log_probability(gaussian, action), expected, rtol=1e-5)
    np.testing.assert_allclose(GAUSSIAN.entropy(gaussian), entropy, rtol=1e-6)


def test_a_categorical_is_scipys(categorical: PolicyOutputs):
    action = jnp.array([[0.0], [3.0], [1.0], [2.0], [2.0]])
    shares = special.softmax(np.asarray(categorical.outputs, np.float64), axis=1)
    taken = shares[np.arange(5), np.asarray(action[:, 0], int)]
    ours = CATEGORICAL.log_probability(categorical, action)
    np.testing.assert_allclose(ours, np.log(taken), rtol=1e-5)
    np.testing.assert_allclose(
        CATEGORICAL.entropy(categorical), stats.entropy(shares, axis=1), rtol=1e-5
    )


def test_a_categorical_diverges_as_scipys(categorical: PolicyOutputs):
    old = PolicyOutputs(jnp.flip(categorical.outputs, 0), NOTHING)
    new_shares, old_shares = (
        special.softmax(np.asarray(one.outputs, np.float64), axis=1) for one in (categorical, old)
    )
    expected = stats.entropy(new_shares, old_shares, axis=1)
    np.testing.assert_allclose(
        CATEGORICAL.divergence(categorical, old), expected, rtol=1e-4, atol=1e-6
    )


def test_a_gaussian_diverges_as_its_integral_says():
    new, old = (0.3, 0.5), (-0.2, 1.5)
    log_ratio = lambda x: stats.norm.logpdf(x, *new) - stats.norm.logpdf(x, *old)  # noqa: E731
    expected, _ = integrate.quad(lambda x: stats.norm.pdf(x, *new) * log_ratio(x), -9, 9)
    ours = GAUSSIAN.divergence(
        *(PolicyOutputs(jnp.array([[m]]), jnp.log(jnp.array([s]))) for m, s in (new, old))
    )
    np.testing.assert_allclose(ours, [expected], rtol=1e-5)


def test_divergences_of_independent_numbers_add_up(gaussian: PolicyOutputs):
    old = PolicyOutputs(gaussian.outputs + 0.5, gaussian.log_std - 0.2)
    parts = [
        GAUSSIAN.divergence(
            *(
                PolicyOutputs(one.outputs[:, [i]], one.log_std[jnp.array([i])])
                for one in (gaussian, old)
            )
        )
        for i in range(3)
    ]
    together = GAUSSIAN.divergence(gaussian, old)
    np.testing.assert_allclose(together, parts[0] + parts[1] + parts[2], rtol=1e-5)


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_nothing_diverges_from_itself(kind, request):
    same = request.getfixturevalue(kind)
    family = {"gaussian": GAUSSIAN, "categorical": CATEGORICAL}[kind]
    np.testing.assert_allclose(family.divergence(same, same), np.zeros(5), atol=1e-7)
