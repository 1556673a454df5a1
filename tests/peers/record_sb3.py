"""Records what Stable-Baselines3's PPO and sb3-contrib's TRPO compute, into tests/golden/sb3.

    /path/to/python/with/torch tests/peers/record_sb3.py [folder]

Everything is done by their own code: a rollout is collected with `collect_rollouts`, which also
estimates the advantages, and learned from with `train`. Gradients are read where `train` leaves
them. Settings are written in our words, so that a record can be read without this file.
"""

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gymnasium = pytest.importorskip("gymnasium")
sb3 = pytest.importorskip("stable_baselines3")
sb3_contrib = pytest.importorskip("sb3_contrib")
callbacks = pytest.importorskip("stable_baselines3.common.callbacks")
distributions = pytest.importorskip("stable_baselines3.common.distributions")
logger = pytest.importorskip("stable_baselines3.common.logger")

FOLDER = Path(__file__).parents[1] / "golden" / "sb3"
NUM_ROWS, OBSERVATION_SIZE, HIDDEN = 64, 3, (16, 8)

Arrays = dict[str, np.ndarray]


class Case(NamedTuple):
    """One agent, one slot."""

    seed: int
    num_actions: int
    is_discrete: bool
    agent: dict[str, Any]
    """Fields of our `AgentConfig`."""
    learning: dict[str, Any]
    """Fields of our `PPOConfig` or `TRPOConfig`."""
    learning_rate: float = 0.0
    """Of PPO's optimiser."""


PPO_CASES = {
    "ppo-gaussian": Case(
        1,
        num_actions=2,
        is_discrete=False,
        agent={"discount": 0.9, "optimiser": "sgd"},
        learning={"passes": 3, "minibatches": 3, "gae_lambda": 1.0},
        learning_rate=0.05,
    ),
    "ppo-gaussian-all-terms": Case(
        2,
        num_actions=1,
        is_discrete=False,
        agent={"discount": 0.99, "optimiser": "adam", "max_gradient_norm": 0.5},
        learning={
            "passes": 2,
            "minibatches": 1,
            "gae_lambda": 0.95,
            "clip_range": 0.1,
            "clip_value_loss": 0.15,
            "entropy_weight": 0.02,
            "value_weight": 0.7,
            "normalise_advantages": False,
        },
        learning_rate=0.003,
    ),
    "ppo-categorical": Case(
        3,
        num_actions=4,
        is_discrete=True,
        agent={"discount": 0.9, "optimiser": "adam"},
        learning={"passes": 4, "minibatches": 1, "gae_lambda": 1.0},
        learning_rate=0.003,
    ),
    "ppo-categorical-all-terms": Case(
        4,
        num_actions=3,
        is_discrete=True,
        agent={"discount": 0.95, "optimiser": "sgd", "max_gradient_norm": 0.3},
        learning={
            "passes": 2,
            "minibatches": 4,
            "gae_lambda": 0.8,
            "clip_value_loss": 0.2,
            "entropy_weight": 0.05,
        },
        learning_rate=0.1,
    ),
}

TRPO_CASES = {
    "trpo-gaussian": Case(
        5, 1, is_discrete=False, agent={"discount": 0.9}, learning={"gae_lambda": 1.0}
    ),
    "trpo-two-numbers": Case(
        6,
        num_actions=2,
        is_discrete=False,
        agent={"discount": 0.99},
        learning={"gae_lambda": 0.95, "target_kl": 0.05, "normalise_advantages": False},
    ),
    "trpo-categorical": Case(
        7, 3, is_discrete=True, agent={"discount": 0.9}, learning={"gae_lambda": 1.0}
    ),
}


class Chance(gymnasium.Env):
    """A world of random numbers that ends by collisions and time limits, and remembers its rows."""

    def __init__(self, case: Case) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (OBSERVATION_SIZE,))
        box = gymnasium.spaces.Box(-1, 1, (case.num_actions,))
        self.action_space = gymnasium.spaces.Discrete(case.num_actions) if case.is_discrete else box
        self.generator = np.random.default_rng(case.seed)
        self.rows: list[dict[str, Any]] = []

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple:
        """Begin anywhere."""
        self.observation = self._draw()
        return self.observation, {}

    def step(self, action: Any) -> tuple:
        """Go anywhere; one step in ten collides, one in ten runs out of time."""
        chance, row = self.generator.random(), {"observation": self.observation}
        terminated, truncated = bool(chance < 0.1), bool(chance > 0.9)
        row |= {"successor": self._draw(), "reward": np.float32(self.generator.random())}
        self.rows.append({**row, "terminated": terminated, "ended": terminated or truncated})
        self.observation = row["successor"]
        return self.observation, row["reward"], terminated, truncated, {}

    def _draw(self) -> np.ndarray:
        return self.generator.standard_normal(OBSERVATION_SIZE).astype(np.float32)


def record_ppo(case: Case) -> Arrays:
    """A rollout, PPO's passes over it, and its loss and gradient somewhere else."""
    ours = case.learning
    model = _model(
        case,
        sb3.PPO,
        learning_rate=case.learning_rate,
        n_epochs=ours["passes"],
        batch_size=-(-NUM_ROWS // ours["minibatches"]),
        clip_range=ours.get("clip_range", 0.2),
        clip_range_vf=ours.get("clip_value_loss"),
        ent_coef=ours.get("entropy_weight", 0.0),
        vf_coef=ours.get("value_weight", 0.5),
        max_grad_norm=case.agent.get("max_gradient_norm", 1e9),
    )
    found = _pool(model) | _parameters("start", model)
    moved = [tensor + 0.1 * torch.randn_like(tensor) for tensor in model.policy.parameters()]
    _train(model, case.seed)
    found |= _parameters("end", model) | {"orders": _orders(case.seed, ours["passes"])}
    found |= {"explained_variance": _logged(model, "explained_variance")}
    return found | _elsewhere(model, moved)


def record_trpo(case: Case) -> Arrays:
    """A rollout, the gradients and a curvature product at its start, and TRPO's step."""
    target_kl = case.learning.get("target_kl", 0.01)
    # Its solver begins at random numbers: it must be given steps enough to forget them.
    steps = {"cg_max_steps": 100, "batch_size": NUM_ROWS, "target_kl": target_kl}
    model = _model(case, sb3_contrib.TRPO, learning_rate=1e-3, **steps)
    found = _pool(model) | _parameters("start", model) | _curvature(model)
    _train(model, case.seed)
    found |= {"kl": _logged(model, "kl_divergence_loss")}
    found |= {"gain": _logged(model, "policy_objective")}
    return found | _parameters("end", model)


def _model(case: Case, kind: Any, **settings: Any) -> Any:
    torch.manual_seed(case.seed)
    optimisers = {
        "sgd": {"optimizer_class": torch.optim.SGD},
        "adam": {"optimizer_class": torch.optim.Adam, "optimizer_kwargs": {"eps": 1e-5}},
    }
    layers = list(HIDDEN)
    model = kind(
        "MlpPolicy",
        Chance(case),
        n_steps=NUM_ROWS,
        gamma=case.agent["discount"],
        gae_lambda=case.learning["gae_lambda"],
        normalize_advantage=case.learning.get("normalise_advantages", True),
        policy_kwargs={
            "net_arch": {"pi": layers, "vf": layers},
            **optimisers[case.agent.get("optimiser", "adam")],
        },
        device="cpu",
        **settings,
    )
    with torch.no_grad():  # choices that differ, and biases that matter
        for tensor in model.policy.parameters():
            tensor += 0.3 * torch.randn_like(tensor)
    model.set_logger(logger.Logger(None, []))
    return model


def _pool(model: Any) -> Arrays:
    """Rows as the world saw them, and what Stable-Baselines3 makes of them."""
    model._setup_learn(NUM_ROWS, None)
    model.set_logger(logger.Logger(None, []))
    buffer = model.rollout_buffer
    watcher = callbacks.ConvertCallback(None)
    watcher.init_callback(model)
    model.collect_rollouts(model.env, watcher, buffer, NUM_ROWS)
    rows = model.env.envs[0].unwrapped.rows
    columns = {f"row {name}": np.stack([row[name] for row in rows]) for name in rows[0]}
    names = {"actions": "row action", "values": "value", "log_probs": "log_probability"}
    names |= {"advantages": "advantage", "returns": "value_target"}
    judged = {
        ours: getattr(buffer, theirs)[:, 0].astype(np.float32) for theirs, ours in names.items()
    }
    return columns | judged


def _train(model: Any, seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002 — what its buffer shuffles by
    model.train()


def _orders(seed: int, passes: int) -> np.ndarray:
    """Rows in the order in which `_train` takes them, pass after pass."""
    np.random.seed(seed)  # noqa: NPY002
    return np.stack([np.random.permutation(NUM_ROWS) for _ in range(passes)])  # noqa: NPY002


def _elsewhere(model: Any, parameters: list[Any]) -> Arrays:
    """Loss and gradient over all rows, where the policy differs from the one that acted."""
    for tensor, there in zip(model.policy.parameters(), parameters, strict=True):
        tensor.data = there.clone()
    found = _parameters("moved", model)
    model.n_epochs, model.batch_size, model.max_grad_norm = 1, NUM_ROWS, 1e9
    model.lr_schedule = lambda progress: 0.0
    model.train()
    names = {"loss": "loss", "policy_gradient_loss": "policy_loss", "value_loss": "value_loss"}
    names |= {"entropy_loss": "negative_entropy", "approx_kl": "approx_kl"}
    names |= {"clip_fraction": "clip_fraction"}
    found |= {ours: _logged(model, theirs) for theirs, ours in names.items()}
    return found | _parameters("gradient", model, lambda tensor: tensor.grad)


def _curvature(model: Any) -> Arrays:
    """TRPO's gradient of the surrogate, and one product with its damped Fisher matrix."""
    data = next(model.rollout_buffer.get())
    is_discrete = isinstance(model.action_space, gymnasium.spaces.Discrete)
    actions = data.actions.long().flatten() if is_discrete else data.actions
    with torch.no_grad():  # a copy, for the policy has only one and will change it
        old = copy.copy(model.policy.get_distribution(data.observations))
    new = model.policy.get_distribution(data.observations)
    advantages = data.advantages
    if model.normalize_advantage:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    gain = (advantages * torch.exp(new.log_prob(actions) - data.old_log_prob)).mean()
    divergence = distributions.kl_divergence(new, old).mean()
    tensors, gradient, slope, _ = model._compute_actor_grad(divergence, gain)
    vector = torch.randn_like(gradient)
    product = model.hessian_vector_product(tensors, slope, vector)
    found: Arrays = {}
    for name, flat in {"gradient": gradient, "vector": vector, "product": product}.items():
        found |= _parameters(name, model, _part_of(flat, tensors))
    return found


def _part_of(flat: Any, tensors: list[Any]) -> Callable[[Any], Any]:
    """Which part of a flat vector belongs to a tensor; zeros where none does, as to the critic."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    own = {id(tensor): part for tensor, part in zip(tensors, parts, strict=True)}
    return lambda tensor: own[id(tensor)].view_as(tensor) if id(tensor) in own else tensor * 0


def _parameters(
    name: str, model: Any, pick: Callable[[Any], Any] = lambda tensor: tensor
) -> Arrays:
    """One number, or what `pick` makes of it, for each parameter: names and layout are ours."""
    policy = model.policy
    networks = {
        "actor": [*policy.mlp_extractor.policy_net, policy.action_net],
        "critic": [*policy.mlp_extractor.value_net, policy.value_net],
    }
    found = {}
    for network, layers in networks.items():
        linear = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
        for index, layer in enumerate(linear):
            found[f"{name} {network} weights {index}"] = pick(layer.weight).T
            found[f"{name} {network} biases {index}"] = pick(layer.bias)
    if hasattr(policy, "log_std"):
        found[f"{name} log_std"] = pick(policy.log_std)
    return {key: tensor.detach().numpy().copy() for key, tensor in found.items()}


def _logged(model: Any, name: str) -> np.ndarray:
    return np.array(model.logger.name_to_value[f"train/{name}"], np.float32)


def record_all(folder: Path) -> None:
    """Write one file per case."""
    folder.mkdir(parents=True, exist_ok=True)
    for cases, record in ((PPO_CASES, record_ppo), (TRPO_CASES, record_trpo)):
        for name, case in cases.items():
            settings = {**case._asdict(), "hidden": HIDDEN, "observation_size": OBSERVATION_SIZE}
            arrays = {"settings": np.array(json.dumps(settings)), **record(case)}
            np.savez_compressed(folder / f"{name}.npz", allow_pickle=False, **arrays)


if __name__ == "__main__":
    record_all(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
