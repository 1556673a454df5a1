"""A world of your own: two agents that should agree on a number, checked like all others.

From the command line, in this folder:
fmarl train own_world:Agreement --set epoch_steps=40 --steps-per-update 20
A class or function that gives a Gymnasium or PettingZoo environment is named in the same way.
"""

import tempfile

import numpy as np

import fmarl
from fmarl.errors import BadInput
from fmarl.worlds import Step, WorldSpec
from fmarl.worlds.check import check_world
from fmarl.worlds.spaces import check_action


class Agreement:
    """Each agent sees the other's last number; both earn more the closer they are."""

    def __init__(self, epoch_steps: int = 20) -> None:
        self.spec = WorldSpec(
            name="own_world:Agreement",
            num_agents=2,
            observation_size=1,
            num_actions=1,
            epoch_steps=epoch_steps,
        )

    def reset(self, seed: int) -> np.ndarray:
        """Start from two numbers drawn at random."""
        self._steps_left = self.spec.epoch_steps
        self._said = np.random.default_rng(seed).uniform(-1, 1, (2, 1)).astype(np.float32)
        return self._said[::-1].copy()

    def step(self, action: np.ndarray) -> Step:
        """Both say a number at once."""
        numbers = np.clip(check_action(self.spec, action)[:, 0], -1, 1)
        if not getattr(self, "_steps_left", 0):
            raise BadInput("a step outside an epoch is not allowed: reset first.")
        self._steps_left -= 1
        self._said = numbers[:, None]
        seen, over = self._said[::-1].copy(), self._steps_left == 0
        earned = np.full(2, -abs(numbers[0] - numbers[1]), dtype=np.float32)
        here, nobody = np.ones(2, dtype=bool), np.zeros(2, dtype=bool)
        return Step(seen, seen, earned, here, nobody, here if over else nobody, over)

    def frame(self) -> None:
        """Nothing to draw."""

    def close(self) -> None:
        """Nothing to close."""

    def __enter__(self) -> "Agreement":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


if __name__ == "__main__":
    check_world(Agreement)
    print("the world keeps all its promises")
    experiment = fmarl.Experiment(
        world="own_world:Agreement", set=("epoch_steps=40",), num_epochs=3, steps_per_update=20
    )
    with tempfile.TemporaryDirectory() as folder:
        run = fmarl.train(experiment, f"{folder}/run")
    print(f"{run.update_count} updates, parameters {run.digest[:12]}")
