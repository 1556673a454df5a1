"""Many steps with the agents' networks in one compiled call."""

from typing import Any

import numpy as np

from fmarl.worlds.traffic.compiled import compiled, entry
from fmarl.worlds.traffic.networks import bend, layer, single_output
from fmarl.worlds.traffic.scene import Scene, drive, observe, reward_of

FINE, CRASHED, NOT_A_NUMBER = 0, 1, 2
"""How a stretch of steps ended."""


@entry
def play(
    scene: Scene, is_controlled: bool, weights: Any, biases: Any, is_tanh: bool, acts: bool,
    noise: Any, flow_noise: Any, observation: Any, action: Any, successor: Any, reward: Any,
) -> tuple[int, int]:  # fmt: skip
    """Play as many steps as there is noise, or to a crash: how many it were, and how it ended.

    If it `acts`, `action` is filled in by the networks, with noise added; else it is given. The
    first row of `observation` is what to begin with; its other rows, `successor` and `reward` are
    filled in. The one program that Python calls: compiling it takes seconds.
    """
    agents, widest = len(scene.learners), 1
    for number in range(len(biases)):
        widest = max(widest, biases[number].shape[1])
    hidden, wanted = np.empty((2, widest), np.float32), np.empty(agents)
    obeyed = wanted if is_controlled else wanted[:0]
    for time in range(len(noise)):
        for agent in range(agents):
            if acts:
                mean = _mean(agent, observation[time, agent], weights, biases, is_tanh, hidden)
                action[time, agent, 0] = mean + noise[time, agent, 0]
            wanted[agent] = min(max(float(action[time, agent, 0]), -1.0), 1.0)
            if np.isnan(action[time, agent, 0]):
                return time, NOT_A_NUMBER
        crashed = drive(scene, obeyed, flow_noise[time])
        observe(scene, successor[time])
        reward[time, :] = 0.0 if crashed else reward_of(scene)
        if crashed:
            return time + 1, CRASHED
        if time + 1 < len(noise):
            observation[time + 1] = successor[time]
    return len(noise), FINE


@compiled
def _mean(
    agent: int, observation: Any, weights: Any, biases: Any, is_tanh: bool, hidden: Any
) -> float:
    """The output of an agent's network, whose last layer has one."""
    layers, count = len(weights), len(observation)
    if layers == 1:
        return single_output(observation, count, weights[0], biases[0], agent)
    layer(observation, count, weights[0], biases[0], agent, hidden[0])
    count = biases[0].shape[1]
    bend(hidden[0], count, is_tanh)
    for number in range(1, layers - 1):
        before, after = hidden[(number + 1) % 2], hidden[number % 2]
        layer(before, count, weights[number], biases[number], agent, after)
        count = biases[number].shape[1]
        bend(after, count, is_tanh)
    last = layers - 1
    return single_output(hidden[(last + 1) % 2], count, weights[last], biases[last], agent)
