"""How agents act: small networks in NumPy, one per agent, all agents in one call.

Nothing is learned or drawn here. Chance comes from outside as `noise`, drawn once for a whole slot,
so an action is a pure function of parameters, observation and noise. With zero noise a network acts
greedily: the mean of its Gaussian (squashed by tanh where the policy is), or its likeliest choice.
Actions are *not* clipped here: the learner needs the raw one for its probability, the world gets
`clipped` ones.
"""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from fmarl.algorithms.log_std import log_std_of
from fmarl.errors import require
from fmarl.worlds.world import Action, Observation, WorldSpec

Noise = Float32[np.ndarray, "agent choice"]
SlotNoise = Float32[np.ndarray, "time agent choice"]
Act = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""An observation and its noise to an action, for all agents."""

ACTIVATIONS: dict[str, Callable[..., np.ndarray]] = {
    "tanh": np.tanh,
    "relu": lambda values, out: np.maximum(values, np.float32(0), out=out),
}

# What a continuous world is given; scalars made once, for they are used in every step.
LOWEST, HIGHEST = np.float32(-1), np.float32(1)


class PolicyParameters(NamedTuple):
    """One network per agent, stacked: layer k maps `weights[k]` and `biases[k]`, then bends."""

    weights: tuple[Float32[np.ndarray, "agent _ _"], ...]
    """From inputs (second axis) to outputs (third), one array per layer."""
    biases: tuple[Float32[np.ndarray, "agent _"], ...]
    log_std: Float32[np.ndarray, "agent choice"]
    """Logarithm of the Gaussian's standard deviation; ignored where actions are discrete, and where
    the network gives it."""


class Policy(NamedTuple):
    """What a worker needs to know to act: a word of `POLICIES`, and a network if it uses one."""

    kind: str
    parameters: PolicyParameters | None = None
    activation: str = "tanh"


class PolicyKind(NamedTuple):
    """Behaviour behind a word: which noise it wants, and how it acts on it."""

    draw: Callable[[np.random.Generator, WorldSpec, tuple[int, int, int]], np.ndarray]
    bind: Callable[[Policy, WorldSpec], Act]
    heads: int
    """Outputs of its network per action: 1 for a mean or a logit, 2 for a mean and a width, which
    only numbers have; 0 for no network."""


def gaussian_action(
    parameters: PolicyParameters, observation: Observation, noise: Noise, activation: str = "tanh"
) -> Action:
    """Mean given by the network, plus exp(log_std) · noise, unclipped."""
    outputs = forward(parameters, activation)
    return outputs(observation) + np.exp(parameters.log_std) * noise


def squashed_action(
    parameters: PolicyParameters, observation: Observation, noise: Noise, activation: str = "tanh"
) -> Action:
    """Tanh of a Gaussian's number; the network gives its means, and then its widths."""
    return _squash(forward(parameters, activation)(observation), noise)


def categorical_action(
    parameters: PolicyParameters, observation: Observation, noise: Noise, activation: str = "tanh"
) -> Action:
    """Draw a choice from the softmax of the network's logits: the Gumbel-max trick.

    The largest of logits + Gumbel noise falls on a choice with exactly its softmax probability.
    """
    return _choice(forward(parameters, activation)(observation) + noise)


def forward(
    parameters: PolicyParameters, activation: str = "tanh"
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the networks as a function; `vecmat` was the fastest batched product measured."""
    bend = ACTIVATIONS[activation]
    # Copies, so that the bits do not depend on where in a message the arrays happened to lie.
    *hidden, (last_weights, last_biases) = [
        (weights.copy(), biases.copy())
        for weights, biases in zip(parameters.weights, parameters.biases, strict=True)
    ]

    def outputs(observation: np.ndarray) -> np.ndarray:
        values = observation
        for weights, biases in hidden:
            values = np.vecmat(values, weights)
            values += biases
            bend(values, out=values)
        values = np.vecmat(values, last_weights)
        values += last_biases
        return values

    return outputs


def clipped(action: np.ndarray, spec: WorldSpec) -> np.ndarray:
    """Return what the world is given for raw actions: numbers from −1 to 1, or the choice."""
    if spec.is_discrete:
        return action
    return np.minimum(np.maximum(action, LOWEST), HIGHEST)


def gumbel(uniforms: np.ndarray) -> np.ndarray:
    """Turn uniform numbers from [0, 1) into standard Gumbel ones: −log(−log u)."""
    return -np.log(-np.log(np.maximum(uniforms, np.finfo(np.float32).tiny)))


def slot_noise(
    policy: Policy, spec: WorldSpec, generator: np.random.Generator, steps: int
) -> SlotNoise:
    """Draw what a policy needs by chance in a slot, all steps at once."""
    shape = (steps, spec.num_agents, spec.num_actions)
    return POLICIES[policy.kind].draw(generator, spec, shape)


def bind(policy: Policy, spec: WorldSpec) -> Act:
    """Return the policy as a function of observation and noise; look-ups happen here, once."""
    return POLICIES[policy.kind].bind(policy, spec)


def check_policy(policy: Policy, spec: WorldSpec) -> None:
    """Refuse a policy that does not fit the world or is not finite, before any worker sees it."""
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
        _check_parameters(policy.parameters, spec, heads)


def random_parameters(
    spec: WorldSpec, hidden: tuple[int, ...] = (64, 64), seed: int = 0, heads: int = 1
) -> PolicyParameters:
    """Networks of random weights, for tests and measurements; learners begin with their own."""
    generator = np.random.default_rng(seed)
    sizes = (spec.observation_size, *hidden, heads * spec.num_actions)
    shapes = [(spec.num_agents, *pair) for pair in itertools.pairwise(sizes)]
    weights = [
        generator.standard_normal(shape, np.float32) / np.float32(shape[1] ** 0.5)
        for shape in shapes
    ]
    biases = [np.zeros((agents, outputs), np.float32) for agents, _, outputs in shapes]
    log_std = np.zeros((spec.num_agents, spec.num_actions), np.float32)
    return PolicyParameters(tuple(weights), tuple(biases), log_std)


def _draw_network_noise(
    generator: np.random.Generator, spec: WorldSpec, shape: tuple[int, int, int]
) -> np.ndarray:
    if spec.is_discrete:
        return gumbel(generator.random(shape, np.float32))
    return generator.standard_normal(shape, np.float32)


def _draw_uniforms(
    generator: np.random.Generator, spec: WorldSpec, shape: tuple[int, int, int]
) -> np.ndarray:
    return generator.random(shape, np.float32)


def _draw_nothing(
    generator: np.random.Generator, spec: WorldSpec, shape: tuple[int, int, int]
) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _bind_network(policy: Policy, spec: WorldSpec) -> Act:
    assert policy.parameters is not None
    outputs = forward(policy.parameters, policy.activation)
    if spec.is_discrete:
        return lambda observation, noise: _choice(outputs(observation) + noise)
    std = np.exp(policy.parameters.log_std)
    return lambda observation, noise: outputs(observation) + std * noise


def _bind_squashed(policy: Policy, spec: WorldSpec) -> Act:
    assert policy.parameters is not None
    outputs = forward(policy.parameters, policy.activation)
    return lambda observation, noise: _squash(outputs(observation), noise)


def _squash(outputs: np.ndarray, noise: np.ndarray) -> np.ndarray:
    size = noise.shape[1]
    std = np.exp(log_std_of(np.tanh(outputs[:, size:])))
    return np.tanh(outputs[:, :size] + std * noise)


def _bind_constant(policy: Policy, spec: WorldSpec) -> Act:
    """Full throttle: 1 in every column, or the last choice."""
    most = spec.num_actions - 1 if spec.is_discrete else 1
    action = np.full((spec.num_agents, spec.action_size), most, np.float32)
    return lambda observation, noise: action


def _bind_random(policy: Policy, spec: WorldSpec) -> Act:
    """Uniform over what is allowed; the largest of equal uniforms is a uniform choice."""
    if spec.is_discrete:
        return lambda observation, noise: _choice(noise)
    return lambda observation, noise: noise * np.float32(2) - np.float32(1)


def _choice(scores: np.ndarray) -> np.ndarray:
    return scores.argmax(axis=1, keepdims=True).astype(np.float32)


def _check_parameters(parameters: PolicyParameters | None, spec: WorldSpec, heads: int) -> None:
    require(parameters is not None, "a network without parameters", "one per agent", "Give some.")
    assert parameters is not None
    arrays = (*parameters.weights, *parameters.biases, parameters.log_std)
    wanted = _wanted_shapes(parameters, spec, heads)
    holds = bool(parameters.weights) and [array.shape for array in arrays] == wanted
    what = f"a network of shapes {[array.shape for array in arrays]}"
    allowed = (
        f"{spec.num_agents} agents, {spec.observation_size} inputs, "
        f"{heads * spec.num_actions} outputs"
    )
    require(holds, what, f"for {spec.name}: {allowed}", "Make it from the world's spec.")
    sound = all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays)
    require(sound, "a network with other than finite float32", "finite float32", "Lower the rate.")


def _wanted_shapes(
    parameters: PolicyParameters, spec: WorldSpec, heads: int
) -> list[tuple[int, ...]]:
    """Shapes that fit the world, given the widths of the hidden layers."""
    agents, widths = spec.num_agents, [weights.shape[-1] for weights in parameters.weights[:-1]]
    sizes = (spec.observation_size, *widths, heads * spec.num_actions)
    weights = [(agents, *pair) for pair in itertools.pairwise(sizes)]
    return [*weights, *[(agents, size) for size in sizes[1:]], (agents, spec.num_actions)]


POLICIES: dict[str, PolicyKind] = {
    "sampled": PolicyKind(_draw_network_noise, _bind_network, heads=1),
    "greedy": PolicyKind(_draw_nothing, _bind_network, heads=1),
    "squashed": PolicyKind(_draw_network_noise, _bind_squashed, heads=2),
    "squashed-greedy": PolicyKind(_draw_nothing, _bind_squashed, heads=2),
    "constant": PolicyKind(_draw_nothing, _bind_constant, heads=0),
    "random": PolicyKind(_draw_uniforms, _bind_random, heads=0),
}
"""Words for policies: networks drawing their actions, the same without chance, and two others."""
