"""Byzantine agents: what they send, what is left alone, and whom it breaks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.federation.make_method import ROBUST, make_method
from fmarl.federation.method import Method
from fmarl.federation.parse import read_attack
from fmarl.federation.robust import attacked
from unit.federation.toy_learner import rows_of, run

ATTACKED = jax.jit(attacked)
FOUND = np.array([1.0, -2.0, 0.5], np.float32)


def _method(text: str, agents: int = 4) -> Method:
    return make_method(agents, learning_rate=0.1, attack=read_attack(text, agents))


def _said(text: str, agent: int, key: int = 0) -> np.ndarray:
    return np.asarray(ATTACKED(_method(text), FOUND, jnp.asarray(agent), jax.random.key(key)))


@pytest.mark.parametrize(
    ("text", "factor"), [("sign-flip:1", -1), ("sign-flip:2:10", -10), ("scale:1:100", 100)]
)
def test_the_last_agents_send_a_multiple_of_what_they_found(text, factor):
    assert np.array_equal(_said(text, 3), factor * FOUND)
    assert np.array_equal(_said(text, 2), (factor if ":2:" in text else 1) * FOUND)
    assert np.array_equal(_said(text, 0), FOUND)


def test_noise_is_drawn_anew_for_every_key_and_has_the_size_that_was_asked():
    method = _method("noise:1:3.0")
    keys = jax.random.split(jax.random.key(0), 4000)
    said = jax.vmap(lambda key: attacked(method, jnp.asarray(FOUND), 3, key))(keys)
    np.testing.assert_allclose(np.mean(said, axis=0), FOUND, atol=0.2)
    np.testing.assert_allclose(np.std(said, axis=0), 3.0, rtol=0.05)
    assert np.array_equal(_said("noise:1:3.0", 2), FOUND)


def test_without_an_attack_nothing_is_computed():
    found = jnp.asarray(FOUND)
    assert attacked(make_method(4), found, 3, jax.random.key(0)) is found


def test_a_lie_is_what_neighbours_and_the_virtual_agent_hear():
    noise = np.random.default_rng(0).normal(size=(1, 4, 2))
    start = np.array([1.5, -0.7])
    lied = noise.copy()
    gradient = 2 * start / np.square(1 + start**2)
    lied[0, 3] = -2 * (gradient + noise[0, 3]) - gradient  # so that g + noise is −2 (g + noise)
    expected = rows_of(run(make_method(4, learning_rate=0.1), start, lied))
    rows = rows_of(run(_method("sign-flip:1:2"), start, noise))
    np.testing.assert_allclose(rows, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("flip:1", "sign-flip:F or"),
        ("sign-flip", "sign-flip:F or"),
        ("scale:1", "scale:F:SIZE"),
        ("scale:1:2:3", "scale:F:SIZE"),
        ("sign-flip:x", "numbers only"),
        ("noise:1:nan", "a size over 0"),
        ("scale:1:-3", "a size over 0"),
        ("sign-flip:0", "1 to 3 attackers"),
        ("sign-flip:4", "1 to 3 attackers"),
    ],
)
def test_attacks_that_can_not_be_are_refused(text, line):
    with pytest.raises(BadInput, match=line) as problem:
        read_attack(text, 4)
    assert "\n" not in str(problem.value)


def _distance_left(rule: str, text: str) -> float:
    """How far from the best, 0, seven agents end; they start at 1.6."""
    tolerated = 2 if rule in ("trimmed", "krum") else 0
    method = make_method(
        7,
        learning_rate=0.1,
        sync_period=2,
        aggregate=rule,
        tolerated=tolerated,
        attack=read_attack(text, 7),
    )
    noise = 0.1 * np.random.default_rng(0).normal(size=(60, 7, 2))
    return float(np.linalg.norm(rows_of(run(method, np.array([1.5, -0.6]), noise))[-1, 0]))


@pytest.mark.parametrize("rule", ["mean", *ROBUST])
def test_two_of_seven_that_flip_signs_break_the_mean_and_no_robust_rule(rule):
    assert _distance_left(rule, "") < 0.2
    left = _distance_left(rule, "sign-flip:2:10")
    assert left > 2 if rule == "mean" else left < 0.5


@pytest.mark.parametrize("rule", ["mean", *ROBUST])
def test_one_of_seven_that_shouts_noise_drowns_the_mean_and_no_robust_rule(rule):
    left = _distance_left(rule, "noise:1:300")
    assert left > 2 if rule == "mean" else left < 0.5
