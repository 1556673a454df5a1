import jax.numpy as jnp
import numpy as np
import pytest

from fmarl.algorithms.advantage import advantages, normalised, weighted_mean
from fmarl.algorithms.algorithm import Transitions

# V(s) is 10 now and 20 next, everywhere; rewards are 1, 2, 3, 4.
NOW, NEXT = jnp.full(4, 10.0), jnp.full(4, 20.0)


def four_rows(**columns: list[bool]) -> Transitions:
    flags = {"present": [True] * 4, "terminated": [False] * 4, "ended": [False] * 4} | columns
    nothing = jnp.zeros((4, 1))
    return Transitions(
        observation=nothing,
        successor=nothing,
        action=nothing,
        reward=jnp.array([1.0, 2.0, 3.0, 4.0]),
        **{name: jnp.array(flag) for name, flag in flags.items()},
    )


def estimates(slot: Transitions, gae_lambda: float = 0.5) -> list[float]:
    return advantages(slot, NOW, NEXT, discount=0.5, gae_lambda=gae_lambda).tolist()


def test_estimates_by_hand():
    """δ_t = r_t + 0.5 · 20 − 10 = r_t; each later one counts a quarter."""
    assert estimates(four_rows()) == [1.75, 3.0, 4.0, 4.0]


def test_a_collision_is_followed_by_nothing():
    slot = four_rows(terminated=[False, True, False, False], ended=[False, True, False, False])
    assert estimates(slot) == [1 + 0.25 * -8, 2 - 10, 4.0, 4.0]


def test_a_time_limit_only_stops_the_looking():
    slot = four_rows(ended=[False, True, False, False])
    assert estimates(slot) == [1.5, 2.0, 4.0, 4.0]


def test_estimates_do_not_reach_over_an_absence():
    slot = four_rows(present=[True, False, True, True])
    assert estimates(slot) == [1.0, 0.0, 4.0, 4.0]


def test_without_lambda_an_estimate_is_one_step_of_surprise():
    assert estimates(four_rows(), gae_lambda=0.0) == [1.0, 2.0, 3.0, 4.0]


def test_with_lambda_one_it_is_the_papers_sum():
    """−V(s_t) + r_t + γ r_{t+1} + … + γ^n V(s_{t+n}), where V(s') is V of the next row."""
    slot, values = four_rows(), jnp.array([10.0, 8.0, 6.0, 4.0])
    following = jnp.array([8.0, 6.0, 4.0, 2.0])
    ours = advantages(slot, values, following, discount=0.5, gae_lambda=1.0)
    by_hand = [1 + 2 / 2 + 3 / 4 + 4 / 8 + 2 / 16 - 10, 2 + 3 / 2 + 4 / 4 + 2 / 8 - 8]
    assert ours[:2].tolist() == by_hand


def test_a_mean_counts_only_those_who_were_there():
    rows = jnp.array([1.0, 5.0, 100.0])
    assert weighted_mean(rows, jnp.array([1.0, 1.0, 0.0])) == 3
    assert weighted_mean(rows, jnp.zeros(3)) == 0


def test_normalising_ignores_the_absent():
    rows, weight = jnp.array([1.0, 50.0, 2.0, 6.0]), jnp.array([1.0, 0.0, 1.0, 1.0])
    ours = np.asarray(normalised(rows, weight))[[0, 2, 3]]
    present = np.array([1.0, 2.0, 6.0])
    np.testing.assert_allclose(ours, (present - 3) / present.std(ddof=1), rtol=1e-6)


@pytest.mark.parametrize("weight", [[0.0, 1.0], [0.0, 0.0]])
def test_too_few_rows_are_left_as_they_are(weight):
    rows = jnp.array([3.0, 4.0])
    assert normalised(rows, jnp.array(weight)).tolist() == [3, 4]
