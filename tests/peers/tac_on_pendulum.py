"""The Tsallis actor-critic on Pendulum with other settings than the task's. Needs no torch.

    PYTHONPATH=tests python -m peers.tac_on_pendulum --indices 1 1.2 1.5 --seeds 3

Stable-Baselines3's SAC has −157 ± 89 after 20 000 steps (RL Zoo); random actions have about −1200.
"""

import argparse
import sys
from dataclasses import replace

import fmarl
from peers import fmarl_side
from peers.score import returns
from peers.tasks import TASKS, Task


def task(index: float, options: argparse.Namespace) -> Task:
    """The task `pendulum-tac` with these settings."""
    usual = TASKS["pendulum-tac"]
    assert isinstance(usual.learning, fmarl.TACConfig)
    learning = replace(
        usual.learning,
        entropic_index=index,
        entropy_weight=options.entropy_weight,
        updates_per_slot=options.updates,
    )
    return replace(usual, steps=options.steps, learning=learning)


def main() -> None:
    """Print one line per seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--indices", type=float, nargs="+", default=[1.0, 1.2, 1.5])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--updates", type=int, default=200, help="gradient steps per 200 steps")
    parser.add_argument("--entropy-weight", type=float, default=0.2)
    options = parser.parse_args()
    for index in options.indices:
        chosen = task(index, options)
        for seed in range(options.seeds):
            scores = returns(chosen.env_id, fmarl_side.train(chosen, seed).act)
            mean = sum(scores) / len(scores)
            sys.stdout.write(f"q = {index:g}, seed {seed}: mean return {mean:.1f}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
