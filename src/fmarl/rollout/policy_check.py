"""Which networks fit a world, and why others do not: checked before any worker sees them."""

import itertools

import numpy as np

from fmarl.errors import require
from fmarl.rollout.policy import ACTIVATIONS, POLICIES, Policy, PolicyParameters
from fmarl.worlds.world import WorldSpec


def check_policy(policy: Policy, spec: WorldSpec) -> None:
    """Raise `BadInput` if a policy does not fit the world or is not finite."""
    require(
        policy.kind in POLICIES and policy.activation in ACTIVATIONS,
        f"policy {policy.kind!r} with activation {policy.activation!r}",
        f"policies are {', '.join(POLICIES)}; activations are {', '.join(ACTIVATIONS)}",
        "Choose from these words.",
    )
    heads = POLICIES[policy.kind].heads
    require(
        heads < 2 or not spec.is_discrete,
        f"policy {policy.kind!r} for {spec.name}",
        "it acts by numbers, and this world wants choices",
        "Use sampled or greedy.",
    )
    if heads:
        _check_parameters(policy, spec, heads)


def random_parameters(
    spec: WorldSpec, hidden: tuple[int, ...] = (64, 64), seed: int = 0, heads: int = 1
) -> PolicyParameters:
    """Networks of random weights, for tests and measurements; learners begin with their own."""
    generator = np.random.default_rng(seed)
    weights, biases, log_std = _shapes(spec, hidden, heads)
    return PolicyParameters(
        tuple(
            generator.standard_normal(shape, np.float32) / np.float32(shape[1] ** 0.5)
            for shape in weights
        ),
        tuple(np.zeros(shape, np.float32) for shape in biases),
        np.zeros(log_std, np.float32),
    )


def _shapes(
    spec: WorldSpec, hidden: tuple[int, ...], heads: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], tuple[int, ...]]:
    """Of weights, biases and log_std, for networks with hidden layers of these widths."""
    agents, sizes = spec.num_agents, (spec.observation_size, *hidden, heads * spec.num_actions)
    weights = [(agents, *pair) for pair in itertools.pairwise(sizes)]
    return weights, [(agents, size) for size in sizes[1:]], (agents, spec.num_actions)


def _check_parameters(policy: Policy, spec: WorldSpec, heads: int) -> None:
    parameters = policy.parameters
    require(parameters is not None, "a network without parameters", "one per agent", "Give some.")
    assert parameters is not None
    widths = tuple(weights.shape[-1] for weights in parameters.weights[:-1])
    weights, biases, log_std = _shapes(spec, widths, heads)
    found = [array.shape for array in policy.arrays]
    size = f"{spec.num_agents} agents, {spec.observation_size} inputs"
    require(
        bool(parameters.weights) and found == [*weights, *biases, log_std],
        f"a network of shapes {found}",
        f"for {spec.name}: {size}, {heads * spec.num_actions} outputs",
        "Make it from the world's spec.",
    )
    sound = policy.is_finite and all(array.dtype == np.float32 for array in policy.arrays)
    require(sound, "a network with other than finite float32", "finite float32", "Lower the rate.")
