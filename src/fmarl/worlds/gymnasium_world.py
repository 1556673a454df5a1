"""Any Gymnasium environment as a world: each agent lives in its own copy.

The agents never meet; what they have in common is the task, which is what federated learning
averages over. A copy whose episode ends restarts by itself, so all rows stay alive all epoch.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

import numpy as np
from jaxtyping import Float32

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, did_you_mean
from fmarl.plugins import look_here_first
from fmarl.user_code import failed_in
from fmarl.worlds import spaces
from fmarl.worlds.module_search import not_found
from fmarl.worlds.world import Observation, Step, World, WorldSpec

if TYPE_CHECKING:
    import gymnasium

PACKAGES = {"ALE": "ale_py"}
"""Which package, as it is imported, registers a well-known family of environments."""


def gymnasium_world(
    env_id: str, num_agents: int = 1, epoch_steps: int = 1000, **make_options: Any
) -> World:
    """World of `num_agents` copies of a registered environment; its word is `gym:ID`.

    Observations and actions are those of `spaces.py`. When the episode of one copy ends, its row
    of `terminated` or `truncated` says so, `successor` holds its true last observation, and the
    copy begins anew at once. After `epoch_steps` steps the epoch is over and whoever has not just
    terminated is truncated. An episode that terminates at its time limit counts as terminated.
    `make_options` go to `gymnasium.make`, whose own checker is off unless asked for: it warns
    where we refuse.

    >>> with gymnasium_world("CartPole-v1", num_agents=2) as world:
    ...     world.reset(seed=0).shape
    (2, 4)
    """
    make = partial(_make, env_id, make_options)
    return world_of_copies(f"gym:{env_id}", make, make(), num_agents, epoch_steps)


def world_of_copies(
    name: str,
    make: "Callable[[], gymnasium.Env]",
    first: "gymnasium.Env",
    num_agents: int = 1,
    epoch_steps: int = 1000,
) -> World:
    """World of an environment and of as many more as there are other agents; closed on errors."""
    envs = [first]
    try:
        spaces.require_size(num_agents, epoch_steps)
        for _ in range(1, num_agents):
            envs.append(make())  # noqa: PERF401 — one by one, to close them
        encoder = spaces.observation_encoder(first.observation_space)
        decoder = spaces.action_decoder(first.action_space)
    except BaseException:
        for env in envs:
            env.close()
        raise
    spec = WorldSpec(
        name=name,
        num_agents=num_agents,
        observation_size=encoder.size,
        num_actions=decoder.num_actions,
        is_discrete=decoder.is_discrete,
        epoch_steps=epoch_steps,
    )
    return GymnasiumWorld(spec, envs, encoder, decoder)


class GymnasiumWorld(Closeable):
    """Copies of one environment, side by side."""

    def __init__(
        self,
        spec: WorldSpec,
        envs: "list[gymnasium.Env]",
        encoder: spaces.ObservationEncoder,
        decoder: spaces.ActionDecoder,
    ) -> None:
        self.spec = spec
        self._envs = envs
        self._encoder = encoder
        self._decoder = decoder
        self._seed = 0
        self._restarts = [0] * len(envs)
        self._steps_left = 0  # none before the first reset

    def reset(self, seed: int) -> Observation:
        """Begin an epoch in every copy, each with its own seed derived from this one."""
        spaces.require_open(bool(self._envs))
        self._steps_left = 0
        self._seed = seed
        self._restarts = [0] * len(self._envs)
        rows = [self._reset_one(agent) for agent in range(len(self._envs))]
        self._steps_left = self.spec.epoch_steps
        return np.stack(rows)

    def step(self, action: np.ndarray) -> Step:
        spaces.require_running(self._steps_left)
        rows = spaces.check_action(self.spec, action)
        steps_left, self._steps_left = self._steps_left - 1, 0  # nothing goes on from half a step

        steps = [self._step_one(agent, row) for agent, row in enumerate(rows)]
        successor = np.stack([seen for seen, *_ in steps])
        reward = np.array([gained for _, gained, *_ in steps], dtype=np.float32)
        terminated = np.array([ended for *_, ended, _ in steps], dtype=bool)
        truncated = np.array([cut for *_, cut in steps], dtype=bool) & ~terminated

        observation = successor.copy()
        if steps_left == 0:
            truncated = ~terminated
        else:
            for agent in np.flatnonzero(terminated | truncated).tolist():
                self._restarts[agent] += 1
                observation[agent] = self._reset_one(agent)
        self._steps_left = steps_left
        return Step(
            observation=observation,
            successor=successor,
            reward=reward,
            present=np.ones(len(steps), dtype=bool),
            terminated=terminated,
            truncated=truncated,
            over=steps_left == 0,
        )

    def frame(self) -> None:
        """Nothing: the copies share no picture."""

    def close(self) -> None:
        self._steps_left = 0
        envs, self._envs = self._envs, []
        for env in envs:
            env.close()

    def _reset_one(self, agent: int) -> Float32[np.ndarray, " observation"]:
        seed = spaces.derived_seed(self._seed, agent, self._restarts[agent])
        env = self._envs[agent]
        seen, _ = spaces.require_parts(
            env.reset(seed=seed), spaces.RESET_PARTS, type(env.unwrapped).reset
        )
        return spaces.read_observation(self._encoder, seen, f"agent {agent}")

    def _step_one(self, agent: int, row: np.ndarray) -> tuple[np.ndarray, float, bool, bool]:
        action = self._decoder.decode(row)
        env = self._envs[agent]
        seen, gained, terminated, truncated, _ = spaces.require_parts(
            env.step(action), spaces.STEP_PARTS, type(env.unwrapped).step
        )
        whose = f"agent {agent}"
        return (
            spaces.read_observation(self._encoder, seen, whose),
            spaces.read_reward(gained, whose),
            bool(terminated),
            bool(truncated),
        )


def _make(env_id: str, make_options: dict[str, Any]) -> "gymnasium.Env":
    import gymnasium

    look_here_first()
    try:
        with catch_warnings(action="ignore"):  # what matters of them, we say
            return gymnasium.make(env_id, **{"disable_env_checker": True, **make_options})
    except (gymnasium.error.UnregisteredEnv, gymnasium.error.DeprecatedEnv):
        allowed = "a registered id, or PACKAGE:ID for a package that registers its own"
        hint = _nearest(env_id, gymnasium.registry)
        raise BadInput(
            f"Gymnasium environment {env_id!r} is not allowed: {allowed}. {hint}"
        ) from None
    except gymnasium.error.Error as problem:
        raise BadInput(
            f"Gymnasium environment {env_id!r} can not be made: {spaces.error_text(problem)}."
        ) from None
    except ModuleNotFoundError as missing:
        raise not_found(env_id.partition(":")[0], missing) from None
    except Exception as problem:  # whatever an environment's own code raises
        raise failed_in(f"making gym:{env_id}", problem) from None


def _nearest(env_id: str, known: Iterable[str]) -> str:
    """The id that was probably meant, or where a whole family of environments comes from."""
    family, slash, _ = env_id.partition("/")
    if not slash:
        words = [f"gym:{name}" for name in known]
        return did_you_mean(f"gym:{env_id}", words, "Try gym:CartPole-v1.")
    package = PACKAGES.get(family, "PACKAGE")
    return f"Install the package that registers {family}, and write gym:{package}:{env_id}."
