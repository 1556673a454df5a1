"""How fast are the bounds? All of them over 100,000 settings at once, against one at a time.

Prints ratios measured in this one run, because the machines are shared. Run: make bench
"""

import numpy as np
from _figures import parser, seconds

from fmarl.theory import Plan, Problem, exponential_decay, resource_cost
from fmarl.theory.catalogue import BOUNDS
from fmarl.topology import constant_weights, graph_from_text

SETTINGS, ALONE = 100_000, 300
SMOKE_SETTINGS, SMOKE_ALONE = 500, 3


def evaluate_all(problem: Problem, plan: Plan) -> None:
    """Cost, every bound and every largest learning rate."""
    resource_cost(problem, plan)
    for entry in BOUNDS.values():
        _ = entry.bound(problem, plan).total
        entry.largest_learning_rate(problem, plan)


def settings(count: int, mixed: bool) -> tuple[Problem, Plan]:
    """Random problems and plans of seven agents: η, λ, τ_i, L and σ² differ in every setting."""
    random = np.random.default_rng(0)
    local_updates = np.sort(random.integers(1, 16, (count, 7)))[:, ::-1].copy()
    local_updates[:, 0] = 15
    graph = graph_from_text("paper-13", 7)
    steps = random.uniform(0.01, 0.14, count)
    different = np.stack([constant_weights(graph, step, 1) for step in steps]) if mixed else None
    problem = Problem(
        smoothness=random.uniform(1, 300, count), gradient_noise=random.uniform(0, 3000, count)
    )
    plan = Plan(
        learning_rate=random.uniform(1e-5, 1e-3, count),
        total_updates=3000,
        local_updates=local_updates,
        decay=exponential_decay(random.uniform(0.8, 1, count), 15),
        mixing=np.empty((0, 7, 7)) if different is None else different,
    )
    return problem, plan


def one(problem: Problem, plan: Plan, index: int) -> tuple[Problem, Plan]:
    """The setting with this index, alone."""
    alone = Problem(
        smoothness=np.asarray(problem.smoothness)[index],
        gradient_noise=np.asarray(problem.gradient_noise)[index],
    )
    return alone, Plan(
        learning_rate=np.asarray(plan.learning_rate)[index],
        total_updates=3000,
        local_updates=plan.local_updates[index],
        decay=plan.decay[index],
        mixing=plan.mixing[index] if plan.consensus_rounds else plan.mixing,
    )


def main() -> None:
    """Print the times per setting and their ratio."""
    smoke = parser(__doc__ or "").parse_args().smoke
    count, few = (SMOKE_SETTINGS, SMOKE_ALONE) if smoke else (SETTINGS, ALONE)
    for mixed in (False, True):
        problem, plan = settings(count, mixed)
        together = seconds(lambda p=problem, q=plan: evaluate_all(p, q)) / count
        alone = [one(problem, plan, index) for index in range(few)]
        apart = seconds(lambda pairs=alone: [evaluate_all(*pair) for pair in pairs]) / few
        name = "with mixing" if mixed else "without mixing"
        print(
            f"{name}: {count} settings in {together * count:.2f} s; "
            f"alone : together = {apart / together:.0f} : 1 per setting"
        )


if __name__ == "__main__":
    main()
