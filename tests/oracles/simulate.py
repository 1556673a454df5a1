"""Federated learning as DESIGN says it, by sampling: mask, decay, mix, step, average.

Written for NumPy and for reading, apart from everything in src: many replicas of a small problem
run side by side, rows are (replica, agent, parameter).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fmarl.theory import Plan

Rows = np.ndarray


class Loss(NamedTuple):
    """A loss whose constants are known: L, σ², the gap of the start, and how to sample it."""

    smoothness: float
    gradient_noise: float
    initial_gap: float
    start: np.ndarray
    gradient: Callable[[Rows], Rows]
    sample: Callable[[Rows, np.random.Generator], Rows]


def simulate(
    plan: Plan,
    loss: Loss,
    rng: np.random.Generator,
    *,
    replicas: int,
    normalise: bool = False,
) -> np.ndarray:
    """‖∇F(θ̄_k)‖² of every replica (rows) before every update k (columns)."""
    total = int(plan.total_updates)
    virtual = np.tile(loss.start.astype(float), (replicas, 1))
    agents = _broadcast(virtual, plan.num_agents)
    norms = np.empty((replicas, total))
    for update in range(total):
        norms[:, update] = np.sum(np.square(loss.gradient(virtual)), axis=-1)
        slot = update % plan.sync_period
        active = plan.local_updates > slot
        rows = plan.decay[slot] * active[:, None] * loss.sample(agents, rng)
        for weights in plan.mixing:
            rows = weights @ rows
        agents = agents - plan.learning_rate * rows
        reported = rows * (plan.num_agents / active.sum() if normalise else 1.0)
        virtual = virtual - plan.learning_rate * reported.mean(axis=1)
        if slot == plan.sync_period - 1:
            agents = _broadcast(virtual, plan.num_agents)
    return norms


def quadratic(
    curvature: np.ndarray,
    *,
    start: np.ndarray,
    gradient_noise: float,
    slope: float = 0.0,
    correlation: float = 0.0,
) -> Loss:
    """Σ h x²/2 with Gaussian noise of variance σ² + β‖∇F‖²; only the part σ² is common."""

    def sample(agents: Rows, rng: np.random.Generator) -> Rows:
        gradient = curvature * agents
        own = np.sqrt(slope) * np.abs(gradient) * rng.standard_normal(agents.shape)
        return gradient + own + gaussian(agents, rng, gradient_noise, correlation)

    gap = float(np.sum(curvature * start**2) / 2)
    largest = float(np.max(curvature))
    return Loss(largest, gradient_noise, gap, start, lambda x: curvature * x, sample)


def bumpy(*, start: np.ndarray, gradient_noise: float, correlation: float = 0.0) -> Loss:
    """Σ x²/(1+x²): not convex, flat far away, second derivative between −1/2 and 2."""

    def gradient(x: Rows) -> Rows:
        return 2 * x / np.square(1 + x**2)

    def sample(agents: Rows, rng: np.random.Generator) -> Rows:
        return gradient(agents) + gaussian(agents, rng, gradient_noise, correlation)

    gap = float(np.sum(start**2 / (1 + start**2)))
    return Loss(2.0, gradient_noise, gap, start, gradient, sample)


def logistic(features: np.ndarray, labels: np.ndarray, *, batch: int) -> Loss:
    """Mean logistic loss, sampled with minibatches drawn with replacement; starts at 0.

    L is λ_max(XᵀX)/(4n). A sample's gradient is (p − y)x with |p − y| < 1, so the minibatch
    variance is nowhere above mean ‖x‖²/batch. The loss is positive, so the gap is below log 2.
    """
    smoothness = float(np.linalg.eigvalsh(features.T @ features)[-1] / 4 / len(features))
    noise = float(np.mean(np.sum(features**2, axis=1)) / batch)

    def error(x: Rows, rows: Rows, answers: Rows) -> Rows:
        return 1 / (1 + np.exp(-np.sum(rows * x[..., None, :], axis=-1))) - answers

    def gradient(x: Rows) -> Rows:
        return error(x, features, labels) @ features / len(features)

    def sample(agents: Rows, rng: np.random.Generator) -> Rows:
        chosen = rng.integers(len(features), size=(*agents.shape[:-1], batch))
        wrong = error(agents, features[chosen], labels[chosen])
        return np.mean(wrong[..., None] * features[chosen], axis=-2)

    start = np.zeros(features.shape[1])
    return Loss(smoothness, noise, float(np.log(2)), start, gradient, sample)


def gaussian(agents: Rows, rng: np.random.Generator, variance: float, correlation: float) -> Rows:
    """Noise of the given total variance, of which the share `correlation` is common to all."""
    own = rng.standard_normal(agents.shape)
    common = rng.standard_normal((agents.shape[0], 1, agents.shape[2]))
    scale = np.sqrt(variance / agents.shape[-1])
    return scale * (np.sqrt(1 - correlation) * own + np.sqrt(correlation) * common)


def _broadcast(virtual: Rows, num_agents: int) -> Rows:
    return np.repeat(virtual[:, None, :], num_agents, axis=1)
