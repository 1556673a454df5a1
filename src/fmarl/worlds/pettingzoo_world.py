"""Any PettingZoo parallel environment as a world: agents that do meet.

Rows are the environment's `possible_agents` in its own order. This file imports the module that
is named to it and nothing else: a name is a dotted path, never code and never a file.
"""

import importlib
import inspect
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require
from fmarl.plugins import look_here_first
from fmarl.user_code import failed_in
from fmarl.worlds import spaces
from fmarl.worlds.module_search import not_found
from fmarl.worlds.world import Observation, Step, World, WorldSpec

if TYPE_CHECKING:
    import pettingzoo

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


def pettingzoo_world(module: str, epoch_steps: int = 1000, **options: Any) -> World:
    """World made by a module's `parallel_env(**options)`; its word is `pettingzoo:MODULE`.

    All agents must see equally many numbers and act in the same form, for their parameters are
    averaged. Shorter observations are not padded: the same column would mean different things
    to different agents, and no error would show it. Pad in a wrapper if that is what you want.

    An agent that ends, by death or otherwise, is absent with rows of zeros until the epoch is
    over; one that ends in silence counts as truncated. The epoch is over when nobody is left, or
    after `epoch_steps` steps, when whoever has not terminated is truncated. An agent born
    later finds its first observation in the row of the step before it is present.

    >>> with pettingzoo_world("mpe2.simple_spread_v3", continuous_actions=True) as world:
    ...     world.spec.num_agents, world.spec.num_actions
    (3, 5)
    """
    return world_of_parallel_env(f"pettingzoo:{module}", _make(module, options), epoch_steps)


def world_of_parallel_env(
    name: str, env: "pettingzoo.ParallelEnv", epoch_steps: int = 1000
) -> World:
    """World of a parallel environment, which is closed if it can not be one."""
    try:
        return _world_of(name, env, epoch_steps)
    except BaseException:
        with suppress(Exception):  # it may be no environment at all
            env.close()
        raise


class PettingZooWorld(Closeable):
    """One parallel environment whose agents are rows."""

    def __init__(
        self,
        spec: WorldSpec,
        env: "pettingzoo.ParallelEnv",
        encoders: dict[Any, spaces.ObservationEncoder],
        decoders: dict[Any, spaces.ActionDecoder],
    ) -> None:
        self.spec = spec
        self._env = env
        self._encoders = encoders
        self._decoders = decoders
        self._rows = {name: row for row, name in enumerate(encoders)}
        self._acting: list[Any] = []
        self._ended: set[Any] = set()
        self._is_open = True
        self._steps_left = 0  # none before the first reset

    def reset(self, seed: int) -> Observation:
        spaces.require_open(self._is_open)
        self._steps_left = 0
        seen, _ = spaces.require_parts(
            self._env.reset(seed=spaces.derived_seed(seed)),
            spaces.RESET_PARTS,
            type(self._env.unwrapped).reset,
        )
        self._ended = set()
        self._acting = self._agents_left()
        require(
            len(self._acting) >= 1,
            f"an epoch of {self.spec.name} without agents",
            "at least one agent after reset",
            "Check the environment's options.",
        )
        observation = self._read(seen, self._acting)
        self._steps_left = self.spec.epoch_steps
        return observation

    def step(self, action: np.ndarray) -> Step:
        spaces.require_running(self._steps_left)
        rows = spaces.check_action(self.spec, action)
        steps_left, self._steps_left = self._steps_left - 1, 0  # nothing goes on from half a step

        acting = self._acting
        choices = {name: self._decoders[name].decode(rows[self._rows[name]]) for name in acting}
        seen, gained, ended, cut, _ = spaces.require_parts(
            self._env.step(choices), spaces.STEP_PARTS, type(self._env.unwrapped).step
        )

        self._ended |= {name for name in acting if ended.get(name) or cut.get(name)}
        left = self._acting = self._agents_left()
        self._ended |= set(acting) - set(left)  # who went in silence does not come back either
        over = steps_left == 0 or not left

        # A terminated agent may leave without a last look: nothing is bootstrapped from it.
        looking = [name for name in acting if name in seen or not ended.get(name)]
        born = [name for name in left if name not in choices]
        successor = self._read(seen, looking)
        present = self._mask(acting)
        terminated = self._mask(name for name in acting if ended.get(name))
        ending = present & ~self._mask([] if over else left)
        step = Step(
            observation=successor + self._read(seen, born),  # different rows
            successor=successor,
            reward=self._rewards(gained, acting),
            present=present,
            terminated=terminated,
            truncated=ending & ~terminated,
            over=over,
        )
        self._steps_left = 0 if over else steps_left
        return step

    def frame(self) -> None:
        """Nothing: environments draw in their own ways."""

    def close(self) -> None:
        self._steps_left = 0
        if self._is_open:
            self._is_open = False
            self._env.close()

    def _agents_left(self) -> list[Any]:
        return [name for name in self._env.agents if name not in self._ended]

    def _mask(self, names: Iterable[Any]) -> np.ndarray:
        mask = np.zeros(self.spec.num_agents, dtype=bool)
        for name in names:
            mask[self._rows[name]] = True
        return mask

    def _rewards(self, gained: dict[Any, Any], names: list[Any]) -> np.ndarray:
        rewards = np.zeros(self.spec.num_agents, dtype=np.float32)
        for name in names:
            rewards[self._rows[name]] = spaces.read_reward(gained.get(name, np.nan), str(name))
        return rewards

    def _read(self, seen: dict[Any, Any], names: list[Any]) -> Observation:
        """Rows of what the named agents see, and zeros for the others."""
        rows = np.zeros((self.spec.num_agents, self.spec.observation_size), dtype=np.float32)
        for name in names:
            require(
                name in seen,
                f"no observation for {name}",
                "one for each agent that goes on or is cut off",
                "Repair or wrap the environment.",
            )
            row = spaces.read_observation(self._encoders[name], seen[name], str(name))
            rows[self._rows[name]] = row
        return rows


def _make(module: str, options: dict[str, Any]) -> "pettingzoo.ParallelEnv":
    what, fix = f"module {module!r}", "Use one such as mpe2.simple_spread_v3."
    require(_DOTTED.fullmatch(module) is not None, what, "names joined by dots", fix)
    make = getattr(_imported(module), "parallel_env", None)
    require(callable(make), what, "a module with a function parallel_env", fix)
    assert make is not None
    try:
        inspect.signature(make).bind(**options)
    except TypeError as problem:
        raise BadInput(f"{module}.parallel_env: {spaces.error_text(problem)}. See --set.") from None
    except ValueError:  # written in C, it has no signature
        pass
    try:
        return make(**options)
    except Exception as problem:  # whatever an environment's own code raises
        raise failed_in(f"{module}.parallel_env", problem) from None


def _imported(module: str) -> Any:
    look_here_first()
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        raise not_found(module, missing) from None
    except Exception as problem:  # whatever the module's own code raises
        raise failed_in(f"importing {module}", problem) from None


def _world_of(name: str, env: "pettingzoo.ParallelEnv", epoch_steps: int) -> World:
    _require_parallel(name, env)
    agents = list(getattr(env, "possible_agents", []))
    allowed = "possible_agents lists at least one agent"
    require(len(agents) >= 1, f"environment {name}", allowed, "Choose one with fixed agents.")
    spaces.require_size(len(agents), epoch_steps)
    encoders = {agent: spaces.observation_encoder(env.observation_space(agent)) for agent in agents}
    decoders = {agent: spaces.action_decoder(env.action_space(agent)) for agent in agents}
    for agent in agents[1:]:
        _require_alike(agents[0], agent, encoders, decoders)
    return PettingZooWorld(
        WorldSpec(
            name=name,
            num_agents=len(agents),
            observation_size=encoders[agents[0]].size,
            num_actions=decoders[agents[0]].num_actions,
            is_discrete=decoders[agents[0]].is_discrete,
            epoch_steps=epoch_steps,
        ),
        env,
        encoders,
        decoders,
    )


def _require_parallel(name: str, env: object) -> None:
    """Refuse what is no environment, and one whose agents act in turns."""
    require(
        not hasattr(env, "agent_iter"),
        f"{name}, an AEC environment whose agents act in turns,",
        "a parallel one",
        "Return pettingzoo.utils.aec_to_parallel(env) from parallel_env.",
    )
    missing = [
        one
        for one in ("reset", "step", "observation_space", "action_space")
        if not callable(getattr(env, one, None))
    ]
    if missing:
        raise BadInput(
            f"parallel_env of {name} returns a {type(env).__name__} without {missing[0]}, which is "
            "not allowed: a pettingzoo.ParallelEnv. Return one."
        )


def _require_alike(
    first: Any,
    other: Any,
    encoders: dict[Any, spaces.ObservationEncoder],
    decoders: dict[Any, spaces.ActionDecoder],
) -> None:
    sizes = encoders[first].size, encoders[other].size
    require(
        sizes[0] == sizes[1],
        f"{first} seeing {sizes[0]} numbers and {other} seeing {sizes[1]}",
        "agents that see equally many, for their parameters are averaged",
        "Pad the shorter ones in a wrapper, or choose another environment.",
    )
    kinds = decoders[first][:2], decoders[other][:2]
    words = [f"{count} {'choices' if choice else 'numbers'}" for count, choice in kinds]
    require(
        kinds[0] == kinds[1],
        f"{first} acting with {words[0]} and {other} with {words[1]}",
        "agents that act in the same form, for their parameters are averaged",
        "Choose another environment.",
    )
