"""What lying agents do to each way of averaging, on a toy world. Run: make bench.

Seven agents learn with PPO to say a number near 0.5; what each wants differs a little. The last f
of them lie about their gradients. A cell says how much of what honest training gains is left: 100 %
is as good as without liars, 0 % learned nothing, less is worse than not training. `--seeds N`
repeats more often, `--markdown` prints the table of docs/robust.md.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from functools import cache

import fmarl
from fmarl.algorithms.agent_config import AgentConfig
from fmarl.engine.compiled import make_program, transitions_of
from fmarl.engine.local_engine import learning_keys, policies_of
from fmarl.errors import BadInput
from fmarl.federation.recipes import make_from_config
from fmarl.federation.robust import ROBUST
from fmarl.report.statistics import mean_interval
from fmarl.rollout.play import play_slot, start
from fmarl.worlds.toy import quadratic_world

TARGETS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
AGENTS = len(TARGETS)
SLOTS, STEPS = 60, 50
ATTACKS = ("sign-flip:{}", "sign-flip:{}:10", "scale:{}:100", "noise:{}:100")
RULES = ("mean", *ROBUST)


@cache
def final_cost(rule: str, liars: int, attack: str, seed: int) -> float:
    """Mean cost of all agents with the final parameters, without chance in the actions."""
    together = fmarl.MethodConfig(
        sync_period=3,
        learning_rate=2e-2,
        aggregate=rule,
        tolerated=liars if rule in ROBUST and ROBUST[rule].uses_tolerated else 1,
        attack=attack,
    )
    experiment = fmarl.Experiment(
        together=together, agent=AgentConfig(hidden=(8,)), seed=seed, steps_per_update=STEPS
    )
    return _trained(experiment, SLOTS)


@cache
def first_cost(seed: int) -> float:
    """The same before anything is learned."""
    return _trained(fmarl.Experiment(agent=AgentConfig(hidden=(8,)), seed=seed), slots=0)


def _trained(experiment: fmarl.Experiment, slots: int) -> float:
    world = quadratic_world(AGENTS, targets=TARGETS, reward_noise=0.1, epoch_steps=STEPS)
    still = quadratic_world(AGENTS, targets=TARGETS, epoch_steps=STEPS)
    algorithm = experiment.make_algorithm(world.spec)
    method = make_from_config(experiment.together, AGENTS, periods=1, seed=0)
    program = make_program(algorithm, AGENTS)
    key, first = learning_keys(experiment.seed)
    state = program.init(method, first)
    player = start(world, experiment.seed)
    for slot in range(slots):
        [policy] = policies_of(algorithm, algorithm.explores, program.acting(state), AGENTS)
        try:
            batch = play_slot(player, policy, slot, STEPS)
        except BadInput:
            return math.inf  # a number too far out for the world
        state, _ = program.update(method, state, transitions_of([batch]), key)
    acting = program.mean_acting(method, state)
    [policy] = policies_of(algorithm, algorithm.exploits, acting, AGENTS)
    return -float(play_slot(start(still, 0), policy, 0, 1).reward.mean())


def shares_left(rule: str, liars: int, attack: str, seeds: Sequence[int]) -> list[float]:
    """Per seed, the gain under attack in percent of what an honest mean gains."""
    shares = []
    for seed in seeds:
        before, honest = first_cost(seed), final_cost("mean", liars, "", seed)
        shares.append(100 * (before - final_cost(rule, liars, attack, seed)) / (before - honest))
    return shares


def cell(shares: Sequence[float]) -> str:
    """Mean and 95 % interval over the seeds."""
    if not all(map(math.isfinite, shares)):
        return "broken"
    found = mean_interval(shares)
    return f"{found.value:.0f} [{found.low:.0f}, {found.high:.0f}]"


def table(seeds: Sequence[int]) -> list[list[str]]:
    """A row per attack, a column per rule; the first row has the header."""
    rows = [["liars", "attack", *RULES]]
    attacks = [(1, ""), (2, "")] + [(liars, text) for liars in (1, 2) for text in ATTACKS]
    for liars, text in attacks:
        attack = text.format(liars)
        cells = [cell(shares_left(rule, liars, attack, seeds)) for rule in RULES]
        told = f"`{attack}`" if attack else f"none, f = {liars} tolerated"
        rows.append([str(liars if attack else 0), told, *cells])
    return rows


def main(words: Sequence[str]) -> None:
    """Train everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args(words)
    rows = table(range(options.seeds))
    if options.markdown:
        rows.insert(1, ["---"] * len(rows[0]))
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))
        return
    print(f"percent of the honest gain, mean and 95 % interval over {options.seeds} seeds")
    for row in rows:
        print(f"{row[0]:6}{row[1]:24}" + "".join(f"{part:>20}" for part in row[2:]))


if __name__ == "__main__":
    main(sys.argv[1:])
