"""How agents act: small networks in NumPy, one per agent, all agents in one call.

Nothing is learned or drawn here. Chance comes from outside as `noise`, drawn once for a whole slot,
so an action is a pure function of parameters, observation and noise. With zero noise a network acts
greedily: the mean of its Gaussian (squashed by tanh where the policy is), or its likeliest choice.
Actions are *not* clipped here: the learner needs the raw one for its probability, the world gets
`clipped` ones.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from fmarl.algorithms.log_std import log_std_of
from fmarl.worlds.world import WorldSpec

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

    @property
    def arrays(self) -> list[np.ndarray]:
        """All numbers of its networks."""
        if self.parameters is None:
            return []
        return [*self.parameters.weights, *self.parameters.biases, self.parameters.log_std]

    @property
    def form(self) -> tuple[object, ...]:
        """All but the numbers: policies of one form fit the same worlds."""
        shapes = [(array.shape, array.dtype) for array in self.arrays]
        return (self.kind, self.activation, *shapes)

    @property
    def is_finite(self) -> bool:
        return all(np.isfinite(array).all() for array in self.arrays)


class PolicyKind(NamedTuple):
    """Behaviour behind a word: which noise it wants, and how it acts on it."""

    draw: Callable[[np.random.Generator, WorldSpec, tuple[int, int, int]], np.ndarray]
    bind: Callable[[Policy, WorldSpec], Act]
    heads: int
    """Outputs of its network per action: 1 for a mean or a logit, 2 for a mean and a width, which
    only numbers have; 0 for no network."""


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


POLICIES: dict[str, PolicyKind] = {
    "sampled": PolicyKind(_draw_network_noise, _bind_network, heads=1),
    "greedy": PolicyKind(_draw_nothing, _bind_network, heads=1),
    "squashed": PolicyKind(_draw_network_noise, _bind_squashed, heads=2),
    "squashed-greedy": PolicyKind(_draw_nothing, _bind_squashed, heads=2),
    "constant": PolicyKind(_draw_nothing, _bind_constant, heads=0),
    "random": PolicyKind(_draw_uniforms, _bind_random, heads=0),
}
"""Words for policies: networks drawing their actions, the same without chance, and two others."""
