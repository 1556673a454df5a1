"""The border between our arrays and Gymnasium's spaces: whatever crosses it is checked here.

Inwards go seeds and actions, refused before an environment sees them; outwards come observations
and rewards, refused before an agent learns from them. This file runs no environment.

| Space | As observation | As action |
|---|---|---|
| `Box` | flattened, in its own units | −1 … 1 mapped linearly to low … high |
| `Discrete` | one-hot | one choice 0 … n−1 |
| `MultiDiscrete` | one-hot for each part | refused |
| `MultiBinary` | flattened | refused |
| `Tuple`, `Dict` | their parts, one after another | refused |
| any other | refused | refused |
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from jaxtyping import Float32

from fmarl.errors import BadInput, require
from fmarl.topology.graph import require_num_agents
from fmarl.worlds.world import WorldSpec

if TYPE_CHECKING:
    import gymnasium

# Choices travel in float32, which holds every whole number only up to here.
MAX_CHOICES = 2**24

_LARGEST = float(np.finfo(np.float32).max)

Row = Float32[np.ndarray, " number"]
Flatten = Callable[[Any], np.ndarray]


class ObservationEncoder(NamedTuple):
    """Turns the observations of one space into rows of numbers."""

    size: int
    """Numbers in a row."""
    flatten: Flatten
    """Row of an observation; raises `ValueError` or `LookupError` if it is not of the space."""


class ActionDecoder(NamedTuple):
    """Turns rows of numbers into the actions of one space."""

    num_actions: int
    """As in `WorldSpec`: numbers per action, or choices."""
    is_discrete: bool
    decode: Callable[[Row], Any]
    """What the environment expects, of its own shape and type; continuous rows are clipped."""


def observation_encoder(space: "gymnasium.Space") -> ObservationEncoder:
    """How agents see a space.

    >>> from gymnasium.spaces import Discrete
    >>> observation_encoder(Discrete(3)).flatten(1)
    array([0., 1., 0.], dtype=float32)
    """
    encoder = _encoder(space)
    require(encoder.size >= 1, f"observation space {space}", "it has numbers to see", "Add some.")
    return encoder


def action_decoder(space: "gymnasium.Space") -> ActionDecoder:
    """How agents choose from a space.

    >>> from gymnasium.spaces import Box
    >>> action_decoder(Box(-2.0, 2.0, (1,))).decode(np.array([0.5], dtype=np.float32))
    array([1.], dtype=float32)
    """
    from gymnasium.spaces import Box, Discrete

    match space:
        case Box():
            return _box_decoder(space)
        case Discrete():
            return _discrete_decoder(space)
        case _:
            raise BadInput(
                f"action space {_short(space)} is not allowed: Box or Discrete."
                " Wrap the environment so that it has one of them."
            )


def derived_seed(seed: int, *place: int) -> int:
    """Seed for one part of an epoch, independent of those for other places.

    It has 31 bits, so that generators written in C can hold it too.
    """
    require(seed >= 0, f"seed = {seed}", "a whole number of 0 or more", "Use a seed such as 0.")
    return int(np.random.SeedSequence(seed, spawn_key=place).generate_state(1)[0] >> 1)


def require_size(num_agents: int, epoch_steps: int) -> None:
    """Raise `BadInput` unless a world may have so many agents and steps."""
    require_num_agents(num_agents)
    require(epoch_steps >= 1, f"epoch_steps = {epoch_steps}", "at least 1", "Use 1000, say.")


def require_open(is_open: bool) -> None:
    """Raise `BadInput` if the world was closed, and its environments with it."""
    if not is_open:
        raise BadInput("reset of a closed world is not allowed: make a new one.")


def require_running(steps_left: int) -> None:
    """Raise `BadInput` if the epoch has no steps left, or none has begun."""
    if steps_left <= 0:
        raise BadInput("a step outside an epoch is not allowed: call reset(seed) before it.")


def check_action(spec: WorldSpec, action: np.ndarray) -> Float32[np.ndarray, "agent action"]:
    """Copy of the actions in float32; `BadInput` names the first agent whose action is unusable."""
    wanted = (spec.num_agents, spec.action_size)
    if action.shape != wanted or action.dtype.kind not in "fiu":
        raise BadInput(
            f"actions of shape {action.shape} and type {action.dtype} are not allowed:"
            f" shape {wanted} and type float32. Give one row to each agent."
        )
    with np.errstate(over="ignore"):  # what float32 can not hold becomes infinite, and is refused
        rows = action.astype(np.float32)
    finite = np.isfinite(rows)
    if not finite.all():
        _refuse_action(rows, finite, "finite numbers")
    if spec.is_discrete:
        known = (rows == np.floor(rows)) & (rows >= 0) & (rows < spec.num_actions)
        if not known.all():
            _refuse_action(rows, known, f"a whole number from 0 to {spec.num_actions - 1}")
    return rows


RESET_PARTS = ("observation", "info")
STEP_PARTS = ("observation", "reward", "terminated", "truncated", "info")


def require_parts(value: Any, names: Sequence[str], function: Callable[..., Any]) -> Any:
    """What `reset` or `step` of an environment returned, if it has as many parts as it should."""
    if isinstance(value, tuple) and len(value) == len(names):
        return value
    found = f"{len(value)} values" if isinstance(value, tuple) else f"a {type(value).__name__}"
    raise BadInput(
        f"{function.__name__} of the environment returned {found}, which is not allowed:"
        f" {len(names)} values ({', '.join(names)}). Mend it{_where(function)}."
    )


def _where(function: Callable[..., Any]) -> str:
    """Where a function begins, if that is known."""
    code = getattr(function, "__code__", None)
    return f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def read_observation(encoder: ObservationEncoder, value: Any, whose: str) -> Row:
    """Row of what an agent sees; `BadInput` rather than garbage."""
    try:
        with np.errstate(over="ignore"):  # as above
            row = encoder.flatten(value)
    except (TypeError, ValueError, LookupError) as problem:
        raise BadInput(
            f"the environment's observation of {whose} is not of its space: {error_text(problem)}."
        ) from None
    finite = np.isfinite(row)
    if not finite.all():
        place = int(np.flatnonzero(~finite)[0])
        raise BadInput(
            f"the environment's observation of {whose} has {row[place]} at position {place},"
            " which is not allowed: finite numbers in float32. Repair or wrap the environment."
        )
    return row


def read_reward(value: Any, whose: str) -> float:
    """Reward of an agent, which some environments wrap in an array of one number."""
    try:
        reward = float(value.item() if isinstance(value, np.ndarray) else value)
    except (TypeError, ValueError):
        reward = math.nan
    if not abs(reward) <= _LARGEST:
        raise BadInput(
            f"the environment's reward of {whose} is {_short(value)}, which is not allowed:"
            " one finite number in float32. Repair or wrap the environment."
        )
    return reward


def error_text(problem: BaseException) -> str:
    """What went wrong elsewhere, on one line and without its last full stop."""
    return _short(problem).rstrip(".") or type(problem).__name__


def _short(thing: object) -> str:
    words = " ".join(str(thing).split())
    return words if len(words) <= 240 else words[:239] + "…"


def _refuse_action(rows: np.ndarray, good: np.ndarray, allowed: str) -> NoReturn:
    agent, column = np.argwhere(~good)[0].tolist()
    raise BadInput(
        f"action {rows[agent, column]} of agent {agent} is not allowed: {allowed}."
        " Check the policy that chose it."
    )


def _encoder(space: "gymnasium.Space") -> ObservationEncoder:
    from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

    match space:
        case Box() | MultiBinary():
            return _flat_encoder(int(np.prod(space.shape)))
        case Discrete():
            return _one_hot_encoder(np.array([space.n]), np.array([space.start]))
        case MultiDiscrete():
            return _one_hot_encoder(space.nvec.ravel(), space.start.ravel())
        case Tuple():
            encoders = [_encoder(part) for part in space.spaces]
            return _joined_encoder(encoders, list)
        case Dict():
            names = list(space.spaces)
            return _joined_encoder(
                [_encoder(part) for part in space.spaces.values()],
                lambda value: [value[name] for name in names],
            )
        case _:
            raise BadInput(
                f"observation space {_short(space)} is not allowed: Box, Discrete, MultiDiscrete,"
                " MultiBinary, or a Tuple or Dict of them. Wrap the environment to flatten it."
            )


def _flat_encoder(size: int) -> ObservationEncoder:
    def flatten(value: Any) -> np.ndarray:
        row = np.asarray(value, dtype=np.float32).reshape(-1)
        if row.size != size:
            raise ValueError(f"{row.size} numbers where there should be {size}")
        return row

    return ObservationEncoder(size, flatten)


def _one_hot_encoder(choices: np.ndarray, start: np.ndarray) -> ObservationEncoder:
    size = int(choices.sum())
    first = np.cumsum(choices) - choices

    def flatten(value: Any) -> np.ndarray:
        chosen = np.asarray(value).reshape(-1) - start
        if not (chosen.shape == choices.shape and np.all((chosen >= 0) & (chosen < choices))):
            raise ValueError(f"{_short(value)} is not among the choices")
        row = np.zeros(size, dtype=np.float32)
        row[first + chosen.astype(np.int64)] = 1.0
        return row

    return ObservationEncoder(size, flatten)


def _joined_encoder(
    encoders: list[ObservationEncoder], parts: Callable[[Any], list]
) -> ObservationEncoder:
    def flatten(value: Any) -> np.ndarray:
        found = parts(value)
        if len(found) != len(encoders):
            raise ValueError(f"{len(found)} parts where there should be {len(encoders)}")
        pairs = zip(encoders, found, strict=True)
        return np.concatenate([encoder.flatten(part) for encoder, part in pairs])

    return ObservationEncoder(sum(encoder.size for encoder in encoders), flatten)


def _box_decoder(space: "gymnasium.spaces.Box") -> ActionDecoder:
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    require(
        bool(np.isfinite(low).all() and np.isfinite(high).all()) and low.size >= 1,
        f"action space {_short(space)}",
        "a Box with a finite low and high for each of its numbers, of which there is one at least",
        "Wrap the environment in gymnasium.wrappers.RescaleAction, or give its Box bounds.",
    )
    is_whole = space.dtype is not None and np.issubdtype(space.dtype, np.integer)

    def decode(row: Row) -> np.ndarray:
        inside = np.minimum(np.maximum(row, -1), 1)
        share = (inside.astype(np.float64).reshape(space.shape) + 1) / 2
        value = low * (1 - share) + high * share  # exact at both ends, and never overflows
        value = np.rint(value) if is_whole else value
        return np.asarray(np.minimum(np.maximum(value, low), high), dtype=space.dtype)

    return ActionDecoder(low.size, False, decode)


def _discrete_decoder(space: "gymnasium.spaces.Discrete[Any]") -> ActionDecoder:
    num_choices, start = int(space.n), int(space.start)
    allowed = f"at most {MAX_CHOICES} choices"
    require(num_choices <= MAX_CHOICES, f"action space {space}", allowed, "Use a Box instead.")
    kind = np.dtype(space.dtype).type  # as `space.sample()` would return it
    return ActionDecoder(num_choices, True, lambda row: kind(start + int(row[0])))
