"""How a slot is played from a time on: step by step, or many steps in one call of the world.

Which of the two is a matter of world and policy alone, so a slot that is played again, after a
crash or from a checkpoint, is played the same way and has the same bits.
"""

from collections.abc import Callable

import numpy as np

from fmarl.rollout.batch import Batch
from fmarl.rollout.policy import Policy, bind, clipped
from fmarl.worlds.world import Networks, PlaysNetworks, Step, World

Stretch = Callable[[Batch, int, int, np.ndarray], tuple[int, Step]]
"""Fill a batch from a time on, with so many steps at most, beginning with an observation: how many
it were, and the last step."""

NETWORK_KINDS = ("sampled", "greedy")
"""Policies whose actions are the output of a network, with noise added."""


def stretches(world: World, policy: Policy, noise: np.ndarray) -> Stretch:
    """The way in which this world is played with this policy."""
    if isinstance(world, PlaysNetworks) and policy.kind in NETWORK_KINDS:
        return _in_one_call(world, policy, noise)
    return _step_by_step(world, policy, noise)


def _step_by_step(world: World, policy: Policy, noise: np.ndarray) -> Stretch:
    act, spec = bind(policy, world.spec), world.spec

    def play(batch: Batch, time: int, most: int, observation: np.ndarray) -> tuple[int, Step]:
        batch.observation[time] = observation  # before the step, for a world may reuse its arrays
        batch.action[time] = action = act(observation, noise[time])
        step = world.step(clipped(action, spec))
        _write(batch, time, step)
        return 1, step

    return play


def _in_one_call(world: PlaysNetworks, policy: Policy, noise: np.ndarray) -> Stretch:
    parameters = policy.parameters
    assert parameters is not None
    # Copies: arrays of a message can not be written to, which would be another type to a compiler.
    weights = tuple(array.copy() for array in parameters.weights)
    biases = tuple(array.copy() for array in parameters.biases)
    networks = Networks(weights, biases, policy.activation)
    added = np.exp(parameters.log_std) * noise

    def play(batch: Batch, time: int, most: int, observation: np.ndarray) -> tuple[int, Step]:
        part = slice(time, time + most)
        batch.observation[time] = observation
        played, step = world.play_steps(
            networks, added[part], batch.observation[part], batch.action[part],
            batch.successor[part], batch.reward[part],
        )  # fmt: skip
        batch.present[time : time + played] = True
        _write(batch, time + played - 1, step)
        return played, step

    return play


def _write(batch: Batch, time: int, step: Step) -> None:
    batch.successor[time] = step.successor
    batch.reward[time] = step.reward
    batch.present[time] = step.present
    batch.terminated[time] = step.terminated
    batch.truncated[time] = step.truncated
