"""What agents see and earn: pure functions of positions and speeds, for both roads.

Everything is scaled so that learners meet numbers of about one.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32, Int

from fmarl.errors import BadInput

STATE_SIZE = 6
"""Numbers that one agent sees, in every variant."""


def loop_neighbours(num_vehicles: int, learners: Sequence[int]) -> Int[np.ndarray, "agent 3"]:
    """Vehicle itself, the one ahead and the one behind, on a closed loop where none overtakes.

    >>> loop_neighbours(4, [1, 3])
    array([[1, 2, 0],
           [3, 0, 2]])
    """
    own = np.array(learners, dtype=int)
    return np.stack([own, (own + 1) % num_vehicles, (own - 1) % num_vehicles], axis=1)


def absolute_columns(
    neighbours: Int[np.ndarray, "agent 3"], num_vehicles: int
) -> Int[np.ndarray, "agent 6"]:
    """Where `absolute_state` finds its numbers among all positions followed by all speeds."""
    columns = np.empty((len(neighbours), STATE_SIZE), dtype=int)
    columns[:, 0::2], columns[:, 1::2] = neighbours, neighbours + num_vehicles
    return columns


def absolute_state(
    positions: Float[np.ndarray, " vehicle"],
    speeds: Float[np.ndarray, " vehicle"],
    columns: Int[np.ndarray, "agent 6"],
) -> Float32[np.ndarray, "agent 6"]:
    """Own position and speed, then those of the vehicle ahead and the one behind (all scaled)."""
    return np.concatenate((positions, speeds), dtype=np.float32, casting="same_kind")[columns]


def relative_state(
    positions: Float[np.ndarray, " vehicle"],
    speeds: Float[np.ndarray, " vehicle"],
    neighbours: Int[np.ndarray, "agent 3"],
    vehicle_length: float,
) -> Float32[np.ndarray, "agent 6"]:
    """Own position and speed, then speed difference and gap to the one ahead and the one behind.

    Positions, and the vehicle's length with them, are shares of the loop.
    """
    own, ahead, behind = neighbours.T
    rows = np.empty((len(own), STATE_SIZE), dtype=np.float32)
    rows[:, 0], rows[:, 1] = positions[own], speeds[own]
    rows[:, 2] = speeds[ahead] - speeds[own]
    rows[:, 3] = (positions[ahead] - positions[own]) % 1.0 - vehicle_length
    rows[:, 4] = speeds[own] - speeds[behind]
    rows[:, 5] = (positions[own] - positions[behind]) % 1.0 - vehicle_length
    return rows


Neighbour = tuple[float, float]
"""Gap to a neighbour, bumper to bumper, and its speed, both scaled."""


def lane_state(
    position: float, speed: float, ahead: Neighbour | None, behind: Neighbour | None, length: float
) -> tuple[float, ...]:
    """The absolute state on an open road; where nobody is, the ends of the road stand in.

    >>> lane_state(0.5, 0.25, (0.125, 0.5), None, 0.125)
    (0.5, 0.25, 0.75, 0.5, 0.0, 0.0)
    """
    ahead_at, ahead_speed = (position + ahead[0] + length, ahead[1]) if ahead else (1.0, 1.0)
    behind_at, behind_speed = (position - behind[0] - length, behind[1]) if behind else (0.0, 0.0)
    return position, speed, ahead_at, ahead_speed, behind_at, behind_speed


def gap_state(
    position: float, speed: float, ahead: Neighbour | None, behind: Neighbour | None, length: float
) -> tuple[float, ...]:
    """The relative state on an open road; where nobody is, the gap is the whole of it.

    >>> gap_state(0.5, 0.25, (0.125, 0.5), None, 0.125)
    (0.5, 0.25, 0.25, 0.125, 0.25, 1.0)
    """
    gap_ahead, speed_ahead = ahead or (1.0, 1.0)
    gap_behind, speed_behind = behind or (1.0, 0.0)
    return position, speed, speed_ahead - speed, gap_ahead, speed - speed_behind, gap_behind


def normalised_average_speed(speeds: Sequence[float], speed_limit: float) -> float:
    """NAS: mean speed of all vehicles over the speed limit; 0 on an empty road.

    Paper: Section VII, "normalized average speed (NAS) of all vehicles".

    >>> normalised_average_speed([5.0, 15.0], speed_limit=20.0)
    0.5
    """
    return sum(speeds) / (len(speeds) * speed_limit) if speeds else 0.0


def desired_velocity(speeds: Sequence[float], target: float) -> float:
    """Flow's reward: how close all speeds are to a target, from 0 to 1.

    max(‖V·1‖ − ‖v − V·1‖, 0) / ‖V·1‖

    >>> round(desired_velocity([10.0, 10.0], target=20.0), 6)
    0.5
    """
    wanted = target * len(speeds) ** 0.5
    missed = sum((speed - target) ** 2 for speed in speeds) ** 0.5
    return max(wanted - missed, 0.0) / (wanted + float(np.finfo(np.float32).eps))


def clip_actions(action: np.ndarray, num_agents: int) -> list[float]:
    """One number per agent, cut to −1 … 1; a NaN or an infinity never reaches the simulation."""
    if action.shape != (num_agents, 1):
        raise BadInput(
            f"actions of shape {action.shape} are not allowed: one number for each of {num_agents} "
            f"agents. Give an array of shape ({num_agents}, 1)."
        )
    numbers = action[:, 0].tolist()
    for agent, number in enumerate(numbers):
        if not -1.0 <= number <= 1.0:
            if number - number != 0:  # NaN or infinite
                raise BadInput(
                    f"action {number} of agent {agent} is not allowed: a finite number. "
                    "Check the policy's parameters."
                )
            numbers[agent] = 1.0 if number > 0 else -1.0
    return numbers
