"""The Tsallis actor-critic on Gymnasium's Pendulum-v1, one agent alone. Needs no torch.

    python tests/peers/tac_on_pendulum.py --indices 1 1.2 1.5 --seeds 3

Stable-Baselines3's SAC has −157 ± 89 after 20 000 steps (RL Zoo); random actions have about −1200.
"""

import argparse
import sys

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.algorithms.algorithm import Acting, Transitions
from fmarl.algorithms.tac import TACConfig, make_tac
from fmarl.rollout.policy import Policy, PolicyParameters, bind, slot_noise
from fmarl.worlds.world import WorldSpec

EPOCH_STEPS = 200
SPEC = WorldSpec(
    name="Pendulum-v1", num_agents=1, observation_size=3, num_actions=1, epoch_steps=EPOCH_STEPS
)
STRONGEST = np.float32(2)  # the torque that an action of 1 stands for
AGENT = AgentConfig(hidden=(64, 64), activation="relu", discount=0.99, optimiser="adam")
LEARNING_RATE = 1e-3
TEST_EPOCHS = 20


def score(config: TACConfig, steps: int, seed: int) -> float:
    """Mean return of the greedy policy after so many steps."""
    algorithm = make_tac(config, AGENT, observation_size=3, num_actions=1, is_discrete=False)
    update = jax.jit(algorithm.local_update, donate_argnums=1)
    parameters, memory = algorithm.init(jax.random.key(seed))
    generator = np.random.default_rng(seed)
    pendulum = gymnasium.make("Pendulum-v1")
    for slot in range(steps // EPOCH_STEPS):
        kind = "random" if slot < algorithm.random_updates else algorithm.explores
        policy = _policy(kind, algorithm.acting(parameters, memory))
        transitions = _play(pendulum, policy, generator)
        key = jax.random.fold_in(jax.random.key(seed), slot)
        step, memory, _ = update(parameters, memory, transitions, key, LEARNING_RATE)
        parameters = jax.tree.map(lambda old, by: old - LEARNING_RATE * by, parameters, step)
    policy = _policy(algorithm.exploits, algorithm.acting(parameters, memory))
    tests = [_play(pendulum, policy, generator) for _ in range(TEST_EPOCHS)]
    return float(np.mean([test.reward.sum() for test in tests]))


def _policy(kind: str, acting: Acting) -> Policy:
    """What a worker would be sent, for one agent."""
    weights, biases, log_std = jax.tree.map(lambda array: np.asarray(array)[None], acting)
    return Policy(kind, PolicyParameters(weights, biases, log_std), AGENT.activation)


def _play(pendulum: gymnasium.Env, policy: Policy, generator: np.random.Generator) -> Transitions:
    """One epoch, which only ever ends by its time limit."""
    act, noise = bind(policy, SPEC), slot_noise(policy, SPEC, generator, EPOCH_STEPS)
    observation, _ = pendulum.reset(seed=int(generator.integers(2**31)))
    rows = []
    for time in range(EPOCH_STEPS):
        action = act(observation[None], noise[time])[0]
        successor, reward, *_ = pendulum.step(STRONGEST * action)
        rows.append((observation, successor, action, reward))
        observation = successor
    columns = [jnp.asarray(np.array(column, np.float32)) for column in zip(*rows, strict=True)]
    ended = jnp.arange(EPOCH_STEPS) == EPOCH_STEPS - 1
    return Transitions(
        *columns, present=jnp.full(EPOCH_STEPS, True), terminated=ended & False, ended=ended
    )


def main() -> None:
    """Print one line per seed."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--indices", type=float, nargs="+", default=[1.0, 1.2, 1.5])
    words.add_argument("--seeds", type=int, default=1)
    words.add_argument("--steps", type=int, default=20_000)
    words.add_argument("--updates", type=int, default=EPOCH_STEPS, help="gradient steps per epoch")
    words.add_argument("--entropy-weight", type=float, default=0.2)
    asked = words.parse_args()
    for index in asked.indices:
        config = TACConfig(
            entropic_index=index,
            entropy_weight=asked.entropy_weight,
            updates_per_slot=asked.updates,  # as many as steps by default, as the authors have
            random_updates=5,
        )
        for seed in range(asked.seeds):
            mean = score(config, asked.steps, seed)
            sys.stdout.write(f"q = {index:g}, seed {seed}: mean return {mean:.1f}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
