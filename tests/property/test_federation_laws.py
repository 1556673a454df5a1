"""Laws for random methods: they do as the slow oracle does, and keep mean, bill and bound."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fmarl.federation.ledger import MessageSizes, after_slot, bytes_sent, empty_ledger
from fmarl.federation.make_method import make_method
from fmarl.federation.method import Method
from fmarl.federation.method_theory import plan_of
from fmarl.federation.recipes import METHODS, MethodConfig, make_from_config
from fmarl.theory import Problem, overheads
from fmarl.theory import corrected_bounds as corrected
from fmarl.theory.exact_quadratic import weighted_average
from fmarl.theory.learning_rate import largest_weighted_learning_rate
from oracles.plans import random_plan
from oracles.slots import simulate_slots
from unit.federation.toy_learner import rows_of, run


def _random_method(seed: int, **parts: Any) -> Method:
    """Any number of agents, period, schedule, decay and mixing."""
    rng = np.random.default_rng(seed)
    agents, period, rounds = int(rng.integers(2, 7)), int(rng.integers(1, 6)), int(rng.integers(3))
    plan = random_plan(rng, agents, period, rounds)
    return make_method(
        agents,
        learning_rate=float(rng.uniform(0.01, 0.3)),
        sync_period=plan.sync_period,
        local_updates=plan.local_updates,
        decay=plan.decay,
        mixing=plan.mixing,
        **parts,
    )


def _random_average(seed: int, agents: int) -> dict[str, Any]:
    """Groups and counts, each with a cycle of its own; some groups have nobody who counts."""
    rng = np.random.default_rng(seed)
    shapes = [(int(rng.integers(1, 4)), agents) for _ in range(2)]
    return {
        "groups": rng.integers(0, agents, shapes[0]),
        "counted": rng.choice([0.0, 1.0, 2.5], shapes[1]),
    }


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)  # each has shapes of its own and is compiled
def test_the_compiled_update_does_what_the_slow_oracle_does(seed):
    average = _random_average(seed, _random_method(seed).num_agents)
    method, rng = _random_method(seed, **average), np.random.default_rng(seed)
    start, noise = rng.normal(size=2), rng.normal(size=(11, method.num_agents, 2))

    rows = rows_of(run(method, start, noise))

    np.testing.assert_allclose(rows, simulate_slots(method, start, noise), atol=2e-5)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_mixing_keeps_the_mean_whoever_is_idle(seed):
    method, rng = _random_method(seed), np.random.default_rng(seed)
    start = rng.normal(size=2)
    noise = rng.normal(size=(int(method.sync_period), method.num_agents, 2))
    unmixed = make_method(
        method.num_agents,
        learning_rate=float(method.learning_rate),
        sync_period=int(method.sync_period),
        local_updates=method.local_updates,
        decay=method.decay,
    )

    first = rows_of(run(method, start, noise))[0].mean(axis=0)

    np.testing.assert_allclose(
        first, rows_of(run(unmixed, start, noise))[0].mean(axis=0), atol=2e-6
    )


@given(seed=st.integers(0, 10_000), periods=st.integers(1, 4))
def test_what_the_meter_counts_is_the_closed_form(seed, periods):
    method = _random_method(seed)
    total = periods * int(method.sync_period)

    ledger = empty_ledger(method.num_agents)
    for count in range(total):
        ledger = after_slot(ledger, method, count)

    counted, closed = ledger.totals(), overheads(plan_of(method, total))
    assert counted["uploads"] == counted["downloads"] == closed.uploads
    assert counted["updates"] == closed.updates
    assert counted["exchanges"] == counted["mixings"] == closed.exchanges
    sent = 2 * closed.uploads * 100 + closed.exchanges * 80
    assert bytes_sent(ledger, MessageSizes(upload=100, exchange=80)) == sent


BOUNDED = [word for word in METHODS if word not in ("independent", "delayed", "delayed-adoption")]


@pytest.mark.parametrize("word", BOUNDED)
def test_the_measured_gradient_norm_stays_below_the_corrected_bound(word):
    """On Σ x²/(1+x²) with noise, whose L = 2, σ² and gap are known, at the largest step allowed."""
    varied = (
        {"sync_period": 4, "local_updates": "1-4"} if "sync_period" in METHODS[word].uses else {}
    )
    config = MethodConfig(method=word, **varied)
    start, variance, total, replicas = np.array([0.9, -1.1]), 0.2, 24, 60
    gap = float(np.sum(start**2 / (1 + start**2)))
    problem = Problem(smoothness=2.0, gradient_noise=variance, initial_gap=gap)
    plan = plan_of(make_from_config(config, 5, periods=6, seed=0), total)
    step = float(largest_weighted_learning_rate(problem, plan))
    config = MethodConfig(method=word, learning_rate=step, **varied)
    method = make_from_config(config, 5, periods=6, seed=0)

    measured = np.mean(
        [_norms(method, start, variance, total, seed) for seed in range(replicas)], 0
    )

    left = float(weighted_average(measured, plan_of(method, total)))
    bound = float(corrected.weighted_bound(problem, plan_of(method, total)).total)
    assert 0.02 * bound < left <= bound


def _norms(method: Method, start: np.ndarray, variance: float, total: int, seed: int) -> np.ndarray:
    """‖∇F(θ̄)‖² before every update."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(scale=np.sqrt(variance / 2), size=(total, method.num_agents, 2))
    means = [start, *rows_of(run(method, start, noise)).mean(axis=1)[:-1]]
    return np.array([np.sum(np.square(2 * x / np.square(1 + x**2))) for x in means])
