"""The promise: what is measured is never above a corrected bound whose step is admissible."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from fmarl import topology
from fmarl.theory import Bound, Plan, Problem, exponential_decay, make_plan
from fmarl.theory import corrected_bounds as corrected
from fmarl.theory import learning_rate as steps
from fmarl.theory.exact_quadratic import (
    exact_gradient_norms,
    synchronised_average,
    weighted_average,
)
from fmarl.theory.problem import Real
from oracles import simulate as run
from oracles.plans import random_plan


class Promise(NamedTuple):
    """A bound, the largest step it allows, and the average it speaks of."""

    bound: Callable[[Problem, Plan], Bound]
    largest_step: Callable[[Problem, Plan], Real]
    average: Callable[[np.ndarray, Plan], Real]
    normalise: bool = False


def _normalised_average(norms: np.ndarray, plan: Plan) -> Real:
    return weighted_average(norms, plan, normalise=True)


PROMISES = {
    "weighted": Promise(
        corrected.weighted_bound, steps.largest_weighted_learning_rate, weighted_average
    ),
    "sharp": Promise(corrected.sharp_bound, steps.largest_weighted_learning_rate, weighted_average),
    "synchronised": Promise(
        corrected.synchronised_bound,
        steps.largest_synchronised_learning_rate,
        synchronised_average,
    ),
    "normalised": Promise(
        corrected.normalised_bound,
        steps.largest_normalised_learning_rate,
        _normalised_average,
        normalise=True,
    ),
}


# Exact: quadratics without sampling.


@pytest.mark.parametrize("name", PROMISES)
def test_no_exact_quadratic_exceeds_a_corrected_bound(name):
    promise, rng = PROMISES[name], np.random.default_rng(20210324)

    ratios = [_exact_ratio(promise, rng) for _ in range(250)]

    assert max(ratios) <= 1
    assert max(ratios) > 0.3  # the bounds are not so loose that nothing was tested


def _exact_ratio(promise: Promise, rng: np.random.Generator) -> float:
    """Left side over bound, for a random plan and a quadratic with two curvatures up to L."""
    plan = random_plan(rng, int(rng.integers(1, 7)), int(rng.integers(1, 9)), int(rng.integers(3)))
    curvature = rng.uniform(0.5, 3.0) * np.array([1.0, rng.uniform(0.05, 1.0)])
    start = rng.normal(size=2) * rng.choice([0.0, 0.1, 1.0])
    problem = Problem(
        smoothness=float(curvature[0]),
        gradient_noise=float(rng.choice([0.0, 0.1, 1.0, 10.0]) if start.any() else 1.0),
        gradient_noise_slope=float(rng.choice([0.0, 0.5, 4.0])),
        initial_gap=float(np.sum(curvature * start**2) / 2),
        noise_correlation=float(rng.choice([0.0, 0.3, 1.0])),
    )
    step = float(promise.largest_step(problem, plan)) * rng.choice([0.05, 0.3, 0.7, 1.0])
    plan = replace(plan, learning_rate=step)
    by_curvature = [
        exact_gradient_norms(
            replace(problem, smoothness=float(h), gradient_noise=problem.gradient_noise / 2),
            plan,
            start=float(x),
            normalise=promise.normalise,
        )
        for h, x in zip(curvature, start, strict=True)
    ]
    return float(
        promise.average(np.sum(by_curvature, axis=0), plan) / promise.bound(problem, plan).total
    )


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_exact_recursion_is_the_mean_of_sampled_runs(seed, normalise):
    rng = np.random.default_rng(seed)
    plan = random_plan(rng, num_agents=4, sync_period=5, rounds=seed % 3)
    plan = replace(plan, learning_rate=0.3, total_updates=15)
    problem = Problem(
        smoothness=1.2,
        gradient_noise=0.8,
        gradient_noise_slope=0.5 * (seed % 2),
        noise_correlation=0.4,
        initial_gap=0.6,
    )
    loss = run.quadratic(
        np.array([1.2]),
        start=np.array([1.0]),
        gradient_noise=0.8,
        slope=0.5 * (seed % 2),
        correlation=0.4,
    )

    sampled = run.simulate(plan, loss, rng, replicas=20_000, normalise=normalise)

    exact = exact_gradient_norms(problem, plan, normalise=normalise)
    error = sampled.std(axis=0) / np.sqrt(len(sampled))
    assert np.all(np.abs(sampled.mean(axis=0) - exact) <= 4.5 * error + 1e-12)


# Sampled: losses that are not quadratic.

UNEVEN = np.array([15, 3, 3, 3, 3, 3, 3])
SPREAD = np.array([15, 13, 11, 9, 7, 5, 3])
MIXING = topology.constant_weights(topology.paper_13(), 0.1, 2)
FADING = exponential_decay(0.92, 15)
METHODS = {
    "periodic": make_plan(sync_period=15, num_agents=7),
    "variation": make_plan(sync_period=15, local_updates=UNEVEN),
    "decay": make_plan(sync_period=15, local_updates=SPREAD, decay=FADING),
    "consensus": make_plan(sync_period=15, local_updates=SPREAD, mixing=MIXING),
    "decay and consensus": make_plan(
        sync_period=15, local_updates=UNEVEN, decay=FADING, mixing=MIXING
    ),
}


def _two_clouds() -> run.Loss:
    rng = np.random.default_rng(7)
    labels = np.repeat([0.0, 1.0], 30)
    features = rng.normal(size=(60, 3)) + 0.7 * (2 * labels[:, None] - 1)
    return run.logistic(features, labels, batch=2)


LOSSES = {
    "bumpy, quiet": run.bumpy(start=np.array([0.8, -1.5, 3.0]), gradient_noise=0.1),
    "bumpy, loud": run.bumpy(start=np.array([0.3, -0.2]), gradient_noise=20.0),
    "bumpy, common noise": run.bumpy(
        start=np.array([0.3, -0.2]), gradient_noise=5.0, correlation=0.5
    ),
    "logistic": _two_clouds(),
}


@pytest.mark.parametrize("loss_name", LOSSES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", PROMISES)
def test_no_sampled_run_exceeds_a_corrected_bound(name, method, loss_name):
    promise, loss = PROMISES[name], LOSSES[loss_name]
    problem = Problem(
        smoothness=loss.smoothness,
        gradient_noise=loss.gradient_noise,
        initial_gap=loss.initial_gap,
        noise_correlation=0.5 if "common" in loss_name else 0.0,
    )
    step = float(promise.largest_step(problem, METHODS[method]))
    plan = replace(METHODS[method], learning_rate=step, total_updates=150)

    norms = run.simulate(
        plan, loss, np.random.default_rng(1), replicas=120, normalise=promise.normalise
    )

    averages = np.array([promise.average(replica, plan) for replica in norms])
    surely_below = averages.mean() + 3 * averages.std() / np.sqrt(len(averages))
    assert surely_below <= promise.bound(problem, plan).total


def test_a_quadratic_with_additive_noise_cannot_tell_periods_or_rounds_apart():
    problem = Problem(smoothness=1.0, gradient_noise=2.0, initial_gap=0.5)
    plan = make_plan(sync_period=1, num_agents=7, learning_rate=0.02, total_updates=150)
    variants = [
        plan,
        replace(plan, local_updates=np.full(7, 5), decay=np.ones(5)),
        replace(plan, local_updates=np.full(7, 15), decay=np.ones(15)),
        replace(plan, local_updates=np.full(7, 15), decay=np.ones(15), mixing=MIXING),
    ]

    averages = [np.mean(exact_gradient_norms(problem, variant)) for variant in variants]

    assert averages == pytest.approx([averages[0]] * 4, rel=1e-13)


def test_a_loss_that_is_not_quadratic_does_tell_periods_apart():
    loss = run.bumpy(start=np.array([0.3, -0.2]), gradient_noise=20.0)
    plan = make_plan(sync_period=15, num_agents=7, learning_rate=0.03, total_updates=150)
    often = replace(plan, local_updates=np.ones(7, int), decay=np.ones(1))

    seldom, frequent = (
        run.simulate(variant, loss, np.random.default_rng(3), replicas=400).mean(axis=1)
        for variant in (plan, often)
    )

    error = np.sqrt((seldom.var() + frequent.var()) / 400)
    assert abs(seldom.mean() - frequent.mean()) > 4 * error
