"""What lying agents do to each way of averaging, on a toy world. Run: make bench.

Seven agents learn with PPO to say a number near 0.5; what each wants differs a little. The last f
of them lie about their gradients. A cell says how much of what honest training gains is left: 100 %
is as good as without liars, 0 % learned nothing, less is worse than not training. `--seeds N`
repeats more often, `--markdown` prints the table of docs/robust.md.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from _figures import parser

import fmarl
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Algorithm
from fmarl.engine.compiled import Program, learning_keys, make_program
from fmarl.engine.engine import acting_of_all, policies_of, transitions_of
from fmarl.errors import BadInput
from fmarl.federation.make_method import ROBUST, TOLERATING
from fmarl.federation.recipes import make_from_config
from fmarl.federation.update import federated_update
from fmarl.report.statistics import mean_interval
from fmarl.rollout.play import play_slot, start
from fmarl.worlds.toy import quadratic_world

TARGETS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
AGENTS = len(TARGETS)
STEPS = 50


class Sizes(NamedTuple):
    """How much is tried."""

    slots: int = 60
    attacks: tuple[str, ...] = ("sign-flip:{}", "sign-flip:{}:10", "scale:{}:100", "noise:{}:100")
    liars: tuple[int, ...] = (1, 2)
    rules: tuple[str, ...] = ("mean", *ROBUST)


SMOKE = Sizes(slots=3, attacks=("sign-flip:{}",), liars=(1,), rules=("mean", *ROBUST)[:2])


@cache
def final_cost(rule: str, liars: int, attack: str, seed: int, slots: int) -> float:
    """Mean cost of all agents with the final parameters, without chance in the actions."""
    together = fmarl.MethodConfig(
        sync_period=3,
        learning_rate=2e-2,
        aggregate=rule,
        tolerated=liars if rule in TOLERATING else 1,
        attack=attack,
    )
    return _trained(together, seed, slots)


@cache
def first_cost(seed: int) -> float:
    """The same before anything is learned."""
    return _trained(fmarl.MethodConfig(), seed, slots=0)


@cache
def _compiled() -> tuple[Algorithm, Program]:
    """The same for all: neither rule nor attack is part of an agent."""
    experiment = fmarl.Experiment(agent=AgentConfig(hidden=(8,)))
    algorithm = experiment.make_algorithm(quadratic_world(AGENTS, targets=TARGETS).spec)
    return algorithm, make_program(algorithm, AGENTS)


def _trained(together: fmarl.MethodConfig, seed: int, slots: int) -> float:
    world = quadratic_world(AGENTS, targets=TARGETS, reward_noise=0.1, epoch_steps=STEPS)
    still = quadratic_world(AGENTS, targets=TARGETS, epoch_steps=STEPS)
    algorithm, program = _compiled()
    method = make_from_config(together, AGENTS, periods=1, seed=0)
    key, first = learning_keys(seed)
    state = program.init(method, first)
    player = start(world, seed)
    for slot in range(slots):
        acting = acting_of_all(program, state)
        [policy] = policies_of(algorithm, algorithm.explores, acting, AGENTS)
        try:
            batch = play_slot(player, policy, slot, STEPS)
        except BadInput:
            return math.inf  # a number too far out for the world
        transitions = transitions_of([batch])
        state, _ = federated_update(method, program.stages, state, transitions, key)
    acting = program.mean_acting(method, state)
    [policy] = policies_of(algorithm, algorithm.exploits, acting, AGENTS)
    return -float(play_slot(start(still, 0), policy, 0, 1).reward.mean())


def share_left(rule: str, liars: int, attack: str, seed: int, slots: int) -> float:
    """The gain under attack in percent of what an honest mean gains."""
    before, honest = first_cost(seed), final_cost("mean", liars, "", seed, slots)
    return 100 * (before - final_cost(rule, liars, attack, seed, slots)) / (before - honest)


def cell(shares: Sequence[float]) -> str:
    """Mean and 95 % interval over the seeds."""
    if not all(map(math.isfinite, shares)):
        return "broken"
    found = mean_interval(shares)
    return f"{found.value:.0f} [{found.low:.0f}, {found.high:.0f}]"


def table(sizes: Sizes, seeds: Sequence[int]) -> list[list[str]]:
    """A row per attack, a column per rule; the first row has the header."""
    rows = [["liars", "attack", *sizes.rules]]
    attacks = [(liars, text) for liars in sizes.liars for text in sizes.attacks]
    for liars, text in [*((liars, "") for liars in sizes.liars), *attacks]:
        attack = text.format(liars)
        cells = [
            cell([share_left(rule, liars, attack, seed, sizes.slots) for seed in seeds])
            for rule in sizes.rules
        ]
        told = f"`{attack}`" if attack else f"none, f = {liars} tolerated"
        rows.append([str(liars if attack else 0), told, *cells])
    return rows


def main() -> None:
    """Train everything and print the table."""
    words = parser(__doc__ or "")
    words.add_argument("--seeds", type=int, default=2)
    words.add_argument("--markdown", action="store_true")
    options = words.parse_args()
    sizes, seeds = (SMOKE, range(2)) if options.smoke else (Sizes(), range(options.seeds))
    rows = table(sizes, seeds)
    if options.markdown:
        rows.insert(1, ["---"] * len(rows[0]))
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))
        return
    print(f"percent of the honest gain, mean and 95 % interval over {len(seeds)} seeds")
    for row in rows:
        print(f"{row[0]:6}{row[1]:24}" + "".join(f"{part:>20}" for part in row[2:]))


if __name__ == "__main__":
    main()
