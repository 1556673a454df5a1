"""Random problems and plans, for laws that must hold for all of them."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from hypothesis import strategies as st

from fmarl.theory import Plan, Problem, exponential_decay, make_plan
from oracles.proof_sums import Setting


def random_laplacian(rng: np.random.Generator, num_agents: int) -> np.ndarray:
    """Laplacian of a connected graph: a random tree, and each other link with chance 0.3."""
    linked = np.triu(rng.random((num_agents, num_agents)) < 0.3, k=1)
    for agent in range(1, num_agents):
        linked[rng.integers(agent), agent] = True
    adjacency = (linked | linked.T).astype(float)
    return np.diag(adjacency.sum(axis=0)) - adjacency


def random_mixing(rng: np.random.Generator, num_agents: int, rounds: int) -> np.ndarray:
    """Rounds I − ε_e La_e, each with its own graph and contracting step: they do not commute."""
    if num_agents == 1 or rounds == 0:
        return np.empty((0, num_agents, num_agents))
    laplacians = np.stack([random_laplacian(rng, num_agents) for _ in range(rounds)])
    steps = rng.uniform(0.05, 1.95, rounds) / np.linalg.eigvalsh(laplacians)[:, -1]
    return np.eye(num_agents) - steps[:, None, None] * laplacians


def random_decay(rng: np.random.Generator, sync_period: int) -> np.ndarray:
    """None, exponential, or any falling weights, which may end in zeros."""
    kind = rng.integers(3)
    if kind == 0:
        return np.ones(sync_period)
    if kind == 1:
        return exponential_decay(float(rng.uniform(0.3, 1.0)), sync_period)
    falling = np.sort(rng.uniform(0, 1, sync_period) * (rng.random(sync_period) < 0.9))[::-1]
    return np.concatenate([[1.0], falling[1:]])


def random_plan(
    rng: np.random.Generator, num_agents: int, sync_period: int, rounds: int = 0
) -> Plan:
    """Any τ_i, any decay, any contracting mixing; K is a few periods."""
    local_updates = rng.integers(1, sync_period + 1, num_agents)
    local_updates[rng.integers(num_agents)] = sync_period
    return make_plan(
        sync_period=sync_period,
        local_updates=local_updates,
        decay=random_decay(rng, sync_period),
        mixing=random_mixing(rng, num_agents, rounds),
        learning_rate=float(10 ** rng.uniform(-4, -1)),
        total_updates=sync_period * int(rng.integers(1, 40)),
    )


def random_problem(rng: np.random.Generator) -> Problem:
    """Constants over two decades; β is zero half of the time."""
    low, high = 10 ** rng.uniform(-1, 1, (2, 4))
    return Problem(
        smoothness=float(low[0]),
        gradient_noise=float(high[0]),
        gradient_noise_slope=float(low[1] * (rng.random() < 0.5)),
        initial_gap=float(high[1]),
        initial_gradient_norm=float(high[2]),
        upload_cost=float(low[2]),
        update_cost=float(low[3]),
        exchange_cost=float(high[3]),
        mixing_cost=float(rng.random()),
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any problem with independent noise."""
    return random_problem(np.random.default_rng(draw(st.integers(0, 10**6))))


@st.composite
def plans(draw: st.DrawFn, max_agents: int = 6, max_period: int = 8, max_rounds: int = 3) -> Plan:
    """Any plan; shrinks towards one agent, one slot and no mixing."""
    num_agents = draw(st.integers(1, max_agents))
    sync_period = draw(st.integers(1, max_period))
    rounds = draw(st.integers(0, max_rounds))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return random_plan(rng, num_agents, sync_period, rounds)


def plain(plan: Plan) -> Plan:
    """The same plan as plain periodic averaging: all agents busy, no decay."""
    busy = np.full(plan.num_agents, plan.sync_period)
    return replace(plan, local_updates=busy, decay=np.ones(plan.sync_period))


def unmixed(plan: Plan) -> Plan:
    """The same plan without neighbour exchange."""
    return replace(plan, mixing=plan.mixing[..., :0, :, :])


def in_plain_numbers(problem: Problem, plan: Plan) -> Setting:
    """What the oracle of `proof_sums` takes."""
    return Setting(
        local_updates=plan.local_updates.tolist(),
        decay=plan.decay.tolist(),
        mixed=_product(plan.mixing.tolist(), plan.num_agents),
        disagreement_left=_largest_stretch(plan),
        learning_rate=plan.learning_rate,
        total_updates=plan.total_updates,
        smoothness=problem.smoothness,
        noise=problem.gradient_noise,
        slope=problem.gradient_noise_slope,
        gap=problem.initial_gap,
        common=problem.noise_correlation,
    )


def stacked(records: Sequence) -> Problem | Plan:
    """Records of the same shape as one record with a leading axis over settings."""
    first = records[0]
    values = {
        field.name: np.stack([np.asarray(getattr(record, field.name)) for record in records])
        for field in fields(first)
    }
    return type(first)(**values)


def _product(rounds: list, size: int) -> list[list[float]]:
    product: list[list[float]] = [[float(i == j) for j in range(size)] for i in range(size)]
    for round_ in rounds:
        product = [
            [float(sum(row[k] * product[k][j] for k in range(size))) for j in range(size)]
            for row in round_
        ]
    return product


def _largest_stretch(plan: Plan) -> float:
    if len(plan.mixing) == 0:
        return 1.0
    apart = np.array(_product(plan.mixing.tolist(), plan.num_agents)) - 1 / plan.num_agents
    return float(np.sqrt(max(np.linalg.eigvalsh(apart.T @ apart)[-1], 0.0)))
