"""Records what soft actor-critic computes on small batches, into tests/golden/sac: needs torch.

    /path/to/python/with/torch tests/peers/record_sac.py [folder]

Policy, critics and log-probabilities come from Stable-Baselines3's own classes with its own random
weights; the value network, which its newer SAC does without, and the losses are written here after
Haarnoja et al. 2018 (arXiv 1801.01290), with a constant temperature and, as the authors of the
Tsallis actor-critic have it, the first critic in the policy's loss. Everything runs in float64.

Two things are set to ours: the policy's log-std goes through tanh to −20 … 2, and the 1e-6 that
Stable-Baselines3 adds inside the logarithm of tanh's slope is left out.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
spaces = pytest.importorskip("gymnasium.spaces")
policies = pytest.importorskip("stable_baselines3.sac.policies")
layers = pytest.importorskip("stable_baselines3.common.torch_layers")

FOLDER = Path(__file__).parents[1] / "golden" / "sac"
NUM_ROWS = 32


class Case(NamedTuple):
    """One batch of one agent."""

    seed: int
    observation_size: int
    num_actions: int
    hidden: list[int]
    activation: str
    discount: float
    entropy_weight: float


CASES = {
    "one_number": Case(1, 6, 1, [16, 16], "tanh", 0.9, 0.2),
    "three_numbers": Case(2, 4, 3, [24], "relu", 0.99, 0.7),
}
ACTIVATIONS = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}


class Precise(layers.FlattenExtractor):
    """Observations in float64, which Stable-Baselines3 would make float32."""

    def forward(self, observations: Any) -> Any:
        return super().forward(observations).double()


class Bounded(torch.nn.Module):
    """Log-std from tanh, as in the code of the Tsallis actor-critic."""

    def forward(self, values: Any) -> Any:
        return -20 + 0.5 * (2 - -20) * (torch.tanh(values) + 1)


class Agent(NamedTuple):
    """Networks of Stable-Baselines3, in float64 with values that float32 holds exactly."""

    policy: Any
    critics: Any
    value: Any
    target: Any

    @property
    def layers(self) -> dict[str, list[list[Any]]]:
        """Each network's linear layers; side by side, those that make one layer of ours."""
        first, second = self.critics.q_networks
        hidden = [[layer] for layer in _linear(self.policy.latent_pi)]
        heads = [*_linear(self.policy.mu), *_linear(self.policy.log_std)]
        chains = {"first_critic": first, "second_critic": second, "value": self.value}
        chains["target"] = self.target
        alone = {name: [[layer] for layer in _linear(net)] for name, net in chains.items()}
        return {"policy": [*hidden, heads], **alone}


def record(case: Case) -> dict[str, np.ndarray]:
    """Networks, data, losses and gradients of one case, by name."""
    torch.manual_seed(case.seed)
    agent, data = _agent(case), _data(case)
    found = _losses(case, agent, data)
    settings = {name: np.array(value) for name, value in case._asdict().items() if name != "seed"}
    arrays = {name: tensor.detach().numpy() for name, tensor in {**data, **found}.items()}
    arrays |= settings
    for network, sides in agent.layers.items():
        arrays |= _named(f"parameters {network}", sides, lambda tensor: tensor)
        if network != "target":
            loss = found["critic_loss" if "critic" in network else f"{network}_loss"]
            arrays |= _named(f"gradient {network}", sides, _gradient_of(loss))
    return arrays


def _agent(case: Case) -> Agent:
    seen, bend = case.observation_size, ACTIVATIONS[case.activation]
    sight = spaces.Box(-np.inf, np.inf, (seen,), np.float32)
    reach = spaces.Box(-1, 1, (case.num_actions,), np.float32)
    parts = (sight, reach, case.hidden, Precise(sight), seen)
    policy = policies.Actor(*parts, activation_fn=bend)
    policy.action_dist.epsilon = 0.0
    policy.log_std = torch.nn.Sequential(policy.log_std, Bounded())
    critics = policies.ContinuousCritic(*parts, activation_fn=bend, n_critics=2)
    value, target = (
        torch.nn.Sequential(*layers.create_mlp(seen, 1, case.hidden, bend)) for _ in range(2)
    )
    with torch.no_grad():  # as wide as an agent that begins to learn
        policy.log_std[0].bias += 1.0
    return Agent(*(net.double() for net in (policy, critics, value, target)))


def _data(case: Case) -> dict[str, Any]:
    seen, acted = (NUM_ROWS, case.observation_size), (NUM_ROWS, case.num_actions)
    return {
        "observation": torch.randn(seen).double(),
        "successor": torch.randn(seen).double(),
        "action": torch.tanh(torch.randn(acted)).double(),
        "reward": torch.randn(NUM_ROWS).double(),
        "terminated": torch.rand(NUM_ROWS) < 0.2,
    }


def _losses(case: Case, agent: Agent, data: dict[str, Any]) -> dict[str, Any]:
    seen, weight = data["observation"], case.entropy_weight
    action, log_probability = agent.policy.action_log_prob(seen)
    mean, log_std, _ = agent.policy.get_action_dist_params(seen)
    noise = (agent.policy.action_dist.gaussian_actions - mean) / log_std.exp()
    first, second = (judged[:, 0] for judged in agent.critics(seen, action))
    lasting = (torch.minimum(first, second) - weight * log_probability).detach()
    goes_on = 1 - data["terminated"].double()
    future = agent.target(data["successor"])[:, 0]
    aim = (data["reward"] + case.discount * goes_on * future).detach()
    taken = [judged[:, 0] for judged in agent.critics(seen, data["action"])]
    return {
        "noise": noise,
        "log_probability": log_probability,
        "policy_loss": (weight * log_probability - first).mean(),
        "critic_loss": sum(0.5 * ((judged - aim) ** 2).mean() for judged in taken),
        "value_loss": 0.5 * ((agent.value(seen)[:, 0] - lasting) ** 2).mean(),
    }


def _gradient_of(loss: Any) -> Callable[[Any], Any]:
    return lambda tensor: torch.autograd.grad(loss, tensor, retain_graph=True)[0]


def _linear(network: Any) -> list[Any]:
    return [part for part in network.modules() if isinstance(part, torch.nn.Linear)]


def _named(prefix: str, sides: list[list[Any]], of: Callable[[Any], Any]) -> dict[str, np.ndarray]:
    """Weights (inputs × outputs) and biases of each layer, or what `of` makes of them."""
    arrays = {}
    for number, layer in enumerate(sides):
        weights = torch.cat([of(side.weight) for side in layer]).T
        biases = torch.cat([of(side.bias) for side in layer])
        arrays[f"{prefix} weights {number}"] = weights.detach().numpy()
        arrays[f"{prefix} biases {number}"] = biases.detach().numpy()
    return arrays


def main(folder: Path) -> None:
    """Write one file per case."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        np.savez(folder / f"{name}.npz", allow_pickle=False, **record(case))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
