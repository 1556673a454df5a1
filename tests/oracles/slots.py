"""Federated slots written the slow way: NumPy float64, one agent after another, lists as queues."""

from collections.abc import Collection

import numpy as np

from fmarl.federation.method import Method


def bumpy_gradient(rows: np.ndarray) -> np.ndarray:
    """Gradient of Σ x²/(1+x²): not linear, so that periods and rounds can be told apart."""
    return 2 * rows / np.square(1 + rows**2)


def simulate_slots(
    method: Method, start: np.ndarray, noise: np.ndarray, *, bad: Collection = ()
) -> list[np.ndarray]:
    """Every agent's parameters after each slot; `bad` holds (slot, agent) whose step is lost."""
    agents, parameters = method.num_agents, np.tile(start, (method.num_agents, 1)).astype(float)
    history = []
    for count, own in enumerate(noise):
        period, slot = divmod(count, int(method.sync_period))
        updates = method.local_updates[period % len(method.local_updates)]
        rows = []
        for agent in range(agents):
            counts = updates[agent] > slot and (count, agent) not in bad
            step = bumpy_gradient(parameters[agent]) + own[agent]
            rows.append(method.decay[slot] * step if counts else 0 * step)
        for weights in method.mixing:
            rows = [sum(weights[i, j] * rows[j] for j in range(agents)) for i in range(agents)]
        parameters = parameters - float(method.learning_rate) * np.array(rows)
        if slot == int(method.sync_period) - 1:
            parameters = average_groups(method, period, parameters)
        history.append(parameters)
    return history


def average_groups(method: Method, period: int, parameters: np.ndarray) -> np.ndarray:
    """Every agent's average, worked out from scratch for each."""
    groups = method.groups[period % len(method.groups)]
    counts = method.counted[period % len(method.counted)]
    averaged = []
    for agent, group in enumerate(groups):
        members = [other for other in range(len(groups)) if groups[other] == group]
        total = sum(counts[member] for member in members)
        whole = sum(counts[member] * parameters[member] for member in members)
        averaged.append(whole / total if total > 0 else parameters[agent])
    return np.array(averaged)


def simulate_late_slots(method: Method, start: np.ndarray, noise: np.ndarray) -> list[np.ndarray]:
    """The same with delays, as lists of what was sent."""
    virtual, held = start.astype(float), start.astype(float)
    sent_up: list[np.ndarray] = []
    sent_down: list[np.ndarray] = []
    history = []
    for count, own in enumerate(noise):
        sent_up.append(np.mean(bumpy_gradient(held) + own, axis=0))
        if count >= method.uplink_delay:
            virtual = virtual - float(method.learning_rate) * sent_up[count - method.uplink_delay]
        sent_down.append(virtual)
        arrived = (
            sent_down[count - method.downlink_delay] if count >= method.downlink_delay else start
        )
        if (count + 1) % method.adopt_every == 0:
            held = arrived
        history.append(np.tile(held, (method.num_agents, 1)))
    return history
