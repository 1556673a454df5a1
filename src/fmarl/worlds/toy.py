"""Worlds of one number, whose gradients are known exactly: for testing theory against practice.

Each agent sees the constant 1 and answers with one number a, its action. The reward is minus a
cost of the distance from the agent's target, plus noise if asked for; nothing carries over from
step to step. With a Gaussian policy, a = mean + std·z, z ~ N(0, 1), the expected cost is a known
function of the mean, and so is its gradient:

| World | Cost of x = a − target | Gradient of the expected cost | Smoothness L |
|---|---|---|---|
| quadratic | ½·curvature·x² | curvature·(mean − target) | curvature |
| bumpy | x² / (1 + x²) | E[2x / (1 + x²)²], by quadrature | 2 |

A quadratic can not tell some methods apart, since averaging and linear maps commute; the bumpy
cost is flat far away and not convex beyond |x| = 1/√3. Noise in the reward changes no gradient.

Unlike other worlds, toys do not clip actions to −1 … 1, else these gradients would not be exact;
they accept any number of at most a million in size.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from fmarl.closeable import Closeable
from fmarl.errors import require
from fmarl.worlds.spaces import check_action, require_running, require_size
from fmarl.worlds.world import Observation, Step, World, WorldSpec

Numbers = float | np.ndarray
"""One number, or an array of them."""

BUMPY_SMOOTHNESS = 2.0  # the largest |cost''|, at x = 0; averaging over a policy only lowers it

# Far beyond use, and still every reward fits float32.
_LIMIT = 1e6
# With this many nodes the quadrature of the bumpy slope is right to 1e-8 for std <= 2.
_NODES = 512
_MAX_STD = 2.0


def quadratic_world(
    num_agents: int = 7,
    *,
    curvature: float = 1.0,
    targets: float | Sequence[float] = 0.0,
    reward_noise: float = 0.0,
    epoch_steps: int = 100,
) -> World:
    """World whose expected cost is a parabola; its word is `toy-quadratic`.

    The cost is zero at `targets`, one for all agents or one for each. `reward_noise` is the
    standard deviation of what is added to each reward.

    >>> with quadratic_world(2, targets=[0.0, 1.0]) as world:
    ...     _ = world.reset(seed=0)
    ...     world.step(np.ones((2, 1), dtype=np.float32)).reward
    array([-0.5,  0. ], dtype=float32)
    """
    _require_number("curvature", curvature)
    cost = partial(quadratic_cost, curvature=curvature)
    return ToyWorld("toy-quadratic", num_agents, epoch_steps, cost, targets, reward_noise)


def bumpy_world(
    num_agents: int = 7,
    *,
    targets: float | Sequence[float] = 0.0,
    reward_noise: float = 0.0,
    epoch_steps: int = 100,
) -> World:
    """World whose cost is x² / (1 + x²), flat far away; its word is `toy-bumpy`.

    `targets` and `reward_noise` are those of `quadratic_world`.
    """
    return ToyWorld("toy-bumpy", num_agents, epoch_steps, bumpy_cost, targets, reward_noise)


def quadratic_cost(x: Numbers, curvature: float = 1.0) -> Numbers:
    """Cost ½·curvature·x² of an action that is off by x."""
    return 0.5 * curvature * np.square(x)


def quadratic_gradient(mean: Numbers, *, target: Numbers = 0.0, curvature: float = 1.0) -> Numbers:
    """Gradient of the expected quadratic cost by the mean of a Gaussian policy, whatever its std.

    E[½ c (mean + std·z − target)²] = ½ c ((mean − target)² + std²).

    >>> float(quadratic_gradient(1.5, target=1.0, curvature=4.0))
    2.0
    """
    return curvature * np.subtract(mean, target)


def bumpy_cost(x: Numbers) -> Numbers:
    """Cost x² / (1 + x²) of an action that is off by x."""
    return np.square(x) / (1 + np.square(x))


def bumpy_slope(x: Numbers) -> Numbers:
    """Derivative 2x / (1 + x²)² of the bumpy cost."""
    return 2 * np.asarray(x) / np.square(1 + np.square(x))


def bumpy_gradient(mean: Numbers, std: float, *, target: Numbers = 0.0) -> Numbers:
    """Gradient of the expected bumpy cost by the mean of a Gaussian policy, to 1e-8.

    >>> float(bumpy_gradient(1.5, 0.0, target=0.5))
    0.5
    """
    allowed = f"0 <= std <= {_MAX_STD}, where the quadrature is accurate"
    require(0 <= std <= _MAX_STD, f"std = {std}", allowed, "Use a narrower policy.")
    return expected_gradient(bumpy_slope, np.subtract(mean, target), std)


def expected_gradient(slope: Callable[[np.ndarray], Any], mean: Numbers, std: float) -> Numbers:
    """E[slope(mean + std·z)] for z ~ N(0, 1), by Gauss–Hermite quadrature with 512 nodes.

    This is the gradient of E[cost(mean + std·z)] by the mean, if `slope` is the cost's derivative
    and grows no faster than a polynomial. Exact for polynomials; otherwise the more accurate the
    smoother the slope is on the scale of std.

    >>> round(float(expected_gradient(lambda x: 3 * x**2, 1.0, 0.5)), 12)  # 3 (mean² + std²)
    3.75
    """
    nodes, weights = _quadrature()
    return slope(np.asarray(mean)[..., None] + std * nodes) @ weights


class ToyWorld(Closeable):
    """Rewards that depend on the action alone."""

    def __init__(
        self,
        name: str,
        num_agents: int,
        epoch_steps: int,
        cost: Callable[[np.ndarray], Any],
        targets: float | Sequence[float],
        reward_noise: float,
    ) -> None:
        require_size(num_agents, epoch_steps)
        _require_number("reward_noise", reward_noise)
        self.spec = WorldSpec(
            name=name,
            num_agents=num_agents,
            observation_size=1,
            num_actions=1,
            epoch_steps=epoch_steps,
        )
        self._cost = cost
        self._targets = _targets(num_agents, targets)
        self._reward_noise = reward_noise
        self._random = np.random.default_rng(0)
        self._steps_left = 0  # none before the first reset

    def reset(self, seed: int) -> Observation:
        """Begin an epoch; the seed decides the noise in its rewards."""
        require(seed >= 0, f"seed = {seed}", "a whole number of 0 or more", "Use 0, say.")
        self._random = np.random.default_rng(seed)
        self._steps_left = self.spec.epoch_steps
        return self._ones()

    def step(self, action: np.ndarray) -> Step:
        """Reward every agent for its number; actions are not clipped."""
        require_running(self._steps_left)
        rows = check_action(self.spec, action)[:, 0].astype(np.float64)
        farthest = int(np.argmax(np.abs(rows)))
        if abs(rows[farthest]) > _LIMIT:
            _require_number(f"action of agent {farthest}", float(rows[farthest]), -_LIMIT)
        reward = -self._cost(rows - self._targets) + 0.0  # without a minus before zero
        if self._reward_noise > 0:
            reward += self._reward_noise * self._random.standard_normal(len(rows))
        self._steps_left -= 1
        over = self._steps_left == 0
        return Step(
            observation=self._ones(),
            successor=self._ones(),
            reward=reward.astype(np.float32),
            present=np.ones(len(rows), dtype=bool),
            terminated=np.zeros(len(rows), dtype=bool),
            truncated=np.full(len(rows), over),
            over=over,
        )

    def frame(self) -> None:
        """Nothing: a number has no picture."""

    def close(self) -> None:
        self._steps_left = 0

    def _ones(self) -> Observation:
        return np.ones((self.spec.num_agents, 1), dtype=np.float32)


def _targets(num_agents: int, targets: float | Sequence[float]) -> np.ndarray:
    values = np.asarray(targets, dtype=np.float64)
    require(
        values.shape in ((), (num_agents,)),
        f"targets of shape {values.shape}",
        f"one number, or one for each of {num_agents} agents",
        "Give as many targets as agents.",
    )
    for value in np.atleast_1d(values).tolist():
        _require_number("target", value, -_LIMIT)
    return np.broadcast_to(values, (num_agents,))


def _require_number(name: str, value: float, lowest: float = 0.0) -> None:
    allowed = f"{lowest:g} <= {name} <= {_LIMIT:g}"
    require(lowest <= value <= _LIMIT, f"{name} = {value:g}", allowed, "Use 1, say.")


@cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for the mean over a standard normal variable."""
    from scipy.special import roots_hermitenorm

    nodes, weights = roots_hermitenorm(_NODES)
    return nodes, weights / weights.sum()
