"""Does a world keep its promises? For everyone who writes one; ours pass it in their tests.

It looks only through the interface of `world.py`, plays a world with random actions, and says in
one line which promise is broken, for which agent, at which step, with which value.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from fmarl.errors import BadInput, require
from fmarl.worlds.world import Step, World, WorldSpec

_ARRAYS = tuple(name for name in Step._fields if name != "over")


class WorldError(AssertionError):
    """A promise that a world does not keep."""


class _Recording(NamedTuple):
    """What was done, what came back, and where epochs began."""

    actions: list[np.ndarray]
    first: list[np.ndarray]
    """Observations that `reset` gave, one for each epoch."""
    steps: list[Step]


def check_world(
    make: Callable[[], World],
    *,
    steps: int = 200,
    seeds: Sequence[int] = (0, 1),
    must_vary: bool = True,
) -> None:
    """Raise a one-line `WorldError` unless the worlds that `make` returns keep every promise.

    The promises, in the order in which they are looked at:

    1. the spec counts at least one of everything, and never changes;
    2. arrays have the spec's shapes, are exactly float32 and bool, are finite, belong to the
       caller (later steps do not change them), and the caller's actions are left alone;
    3. an absent agent's rows are zero, except the observation with which it comes back, and its
       row of the frame, which may be nan throughout;
    4. an agent is not terminated and truncated at once; without an end, what it acts on next is
       what its action led to; when the epoch is over, it has ended for everyone present;
    5. an epoch is over after at most `epoch_steps` steps, and steps outside one are refused;
    6. the same seed gives the same bits, after a second `reset` and in a second world;
    7. unusable actions raise `BadInput`, and the epoch goes on as if nothing had happened;
    8. a world can be closed twice;
    9. other seeds give other bits.

    >>> from fmarl.worlds.toy import quadratic_world
    >>> check_world(lambda: quadratic_world(3, reward_noise=0.1))

    With each seed it plays `steps` steps, over as many epochs as that takes; promise 5 is seen
    only if an epoch ends within them. A world without chance owes nothing to promise 9: it is
    checked with `must_vary=False`.
    """
    require(steps >= 1, f"steps = {steps}", "at least 1", "Use 200, say.")
    fewest = 2 if must_vary else 1
    require(len(seeds) >= fewest, f"seeds = {seeds}", f"at least {fewest}", "Use (0, 1), say.")
    with make() as world:
        _check_spec(world)
        spec = world.spec
        _check_refuses(world, _actions(spec, 1)[0], "a step before the first reset")
        first, *others = (_record(world, seed, steps) for seed in seeds)
        _check_same(first, _record(world, seeds[0], steps), "after a second reset with its seed")
        _check_refusals(world, seeds[0], first)
        _check(world.spec == spec, f"the spec changed from {spec} to {world.spec}")
    _check_closes(world)
    with make() as other:  # after the first was closed: some simulators allow one at a time
        _check(other.spec == spec, f"the spec is {spec} in one world, {other.spec} in another")
        _check_same(first, _record(other, seeds[0], steps), "in a second world")
    if must_vary:
        alike = all(_first_difference(first, other) is None for other in others)
        _check(not alike, f"seeds {tuple(seeds)} give the same bits (must_vary=False allows it)")


def _record(world: World, seed: int, steps: int) -> _Recording:
    """Play with the same actions whatever the seed, and check every step alone."""
    spec = world.spec
    recording = _Recording(actions=_actions(spec, steps), first=[], steps=[])
    step_in_epoch, expected = 0, np.zeros(spec.num_agents, dtype=bool)
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    for time, action in enumerate(recording.actions):
        if not recording.steps or recording.steps[-1].over:
            first = _reset(world, seed + len(recording.first))
            recording.first.append(first.copy())
            kept.append((recording.first[-1], first))
            step_in_epoch, expected = 0, _filled(recording.first[-1])
        given = action.copy()
        step = world.step(given)
        step_in_epoch += 1
        where = f"at step {time} of seed {seed}"
        _check(np.array_equal(given, action), f"the actions given were changed {where}")
        _check_step(spec, step, where)
        _check_absent(expected, step, where)
        expected = _filled(step.observation) & ~step.present
        _check_frame(world, where)
        too_long = step_in_epoch >= spec.epoch_steps and not step.over
        _check(not too_long, f"not over after {step_in_epoch} = epoch_steps steps, {where}")
        if step.over:
            _check_refuses(world, action, f"a step after the epoch was over, {where}")
        copies = {name: getattr(step, name).copy() for name in _ARRAYS}
        recording.steps.append(step._replace(**copies))
        kept.extend((copies[name], getattr(step, name)) for name in _ARRAYS)
    for mine, theirs in kept:
        _check(np.array_equal(mine, theirs), "an array that it returned was changed later")
    return recording


def _reset(world: World, seed: int) -> np.ndarray:
    spec = world.spec
    observation = world.reset(seed)
    shape = (spec.num_agents, spec.observation_size)
    _check_array("observation", observation, shape, np.float32, f"from reset({seed})")
    _check_frame(world, f"after reset({seed})")
    return observation


def _check_spec(world: object) -> None:
    if not isinstance(world, World):
        _fail(f"{type(world).__name__} lacks a method of World")
    spec = world.spec
    for name in ("num_agents", "observation_size", "num_actions", "epoch_steps"):
        count = getattr(spec, name)
        _check(type(count) is int and count >= 1, f"spec.{name} is {count!r}, not 1 or more")
    _check(bool(spec.name.strip()), "spec.name is empty")


def _check_step(spec: WorldSpec, step: Step, where: str) -> None:
    seen, alone = (spec.num_agents, spec.observation_size), (spec.num_agents,)
    _check_array("observation", step.observation, seen, np.float32, where)
    _check_array("successor", step.successor, seen, np.float32, where)
    _check_array("reward", step.reward, alone, np.float32, where)
    for name in ("present", "terminated", "truncated"):
        _check_array(name, getattr(step, name), alone, np.bool_, where)
    _check(type(step.over) is bool, f"over is {step.over!r} and not a bool {where}")

    ended = step.terminated | step.truncated
    _check_none(step.terminated & step.truncated, "is terminated and truncated at once", where)
    moved = np.any(step.observation != step.successor, axis=1)
    moved &= step.present & ~ended
    _check_none(moved, "did not end, but observation is not successor", where)
    if step.over:
        _check_none(step.present & ~ended, "has not ended though the epoch is over", where)


def _check_absent(expected: np.ndarray, step: Step, where: str) -> None:
    """Absent agents have rows of zeros, unless an observation says that they are expected next."""
    absent = ~step.present
    for name in ("successor", "reward", "terminated", "truncated"):
        filled = _filled(getattr(step, name))
        _check_none(absent & filled, f"is absent, but its {name} is not zero", where)
    _check_none(absent & expected, "is absent, but its observation before was not zero", where)


def _check_frame(world: World, where: str) -> None:
    picture = world.frame()
    if picture is not None:
        agents = world.spec.num_agents
        things = max(len(picture), agents)  # the agents come first
        nowhere = np.isnan(picture[:agents]).all(axis=-1, keepdims=True)  # an absent agent's row
        drawn = np.concatenate([np.where(nowhere, 0, picture[:agents]), picture[agents:]])
        _check_array("frame", drawn.astype(picture.dtype), (things, 3), np.float32, where)


def _check_refusals(world: World, seed: int, recording: _Recording) -> None:
    """Try unusable actions within an epoch and see that it goes on as it did without them."""
    world.reset(seed)
    for time, expected in enumerate(recording.steps[:2]):
        action = recording.actions[time]
        for bad, why in _bad_actions(world.spec, action):
            _check_refuses(world, bad, why)
        difference = _difference(expected, world.step(action))
        _check(difference is None, f"refused actions changed {difference} at step {time}")
        if expected.over:
            break


def _bad_actions(spec: WorldSpec, action: np.ndarray) -> list[tuple[np.ndarray, str]]:
    numbers = [math.nan, math.inf, -math.inf]
    if spec.is_discrete:
        numbers += [0.5, -1.0, float(spec.num_actions)]
    bad = [(action.copy(), f"action {number} of the last agent") for number in numbers]
    for (rows, _), number in zip(bad, numbers, strict=True):
        rows[-1, -1] = number
    rows, columns = action.shape
    shapes = (rows + 1, columns), (rows, columns + 1)
    return bad + [(np.zeros(shape, np.float32), f"actions of shape {shape}") for shape in shapes]


def _check_refuses(world: World, action: np.ndarray, what: str) -> None:
    try:
        world.step(action)
    except BadInput:
        return
    except Exception as other:
        _fail(f"{what} raises {type(other).__name__} and not BadInput", other)
    _fail(f"{what} is accepted, where BadInput should be raised")


def _check_closes(world: World) -> None:
    try:
        world.close()
    except Exception as problem:
        _fail(f"closing a second time raises {type(problem).__name__}", problem)


def _check_same(first: _Recording, second: _Recording, when: str) -> None:
    difference = _first_difference(first, second)
    _check(difference is None, f"other bits {when}: {difference}")


def _first_difference(first: _Recording, second: _Recording) -> str | None:
    for epoch, (one, two) in enumerate(zip(first.first, second.first, strict=False)):
        if one.tobytes() != two.tobytes():
            return f"the first observation of epoch {epoch}"
    for time, (one, two) in enumerate(zip(first.steps, second.steps, strict=True)):
        difference = _difference(one, two)
        if difference is not None:
            return f"{difference} at step {time}"
    return None


def _difference(one: Step, two: Step) -> str | None:
    for name in _ARRAYS:
        mine, theirs = getattr(one, name), getattr(two, name)
        if mine.tobytes() != theirs.tobytes():
            agent = int(np.argmax(np.any((mine != theirs).reshape(len(mine), -1), axis=1)))
            return f"{name} of agent {agent} ({mine[agent]} and {theirs[agent]})"
    return None if one.over == two.over else f"over ({one.over} and {two.over})"


def _actions(spec: WorldSpec, steps: int) -> list[np.ndarray]:
    random = np.random.default_rng(20_240)
    shape = (steps, spec.num_agents, spec.action_size)
    if spec.is_discrete:
        return list(random.integers(spec.num_actions, size=shape).astype(np.float32))
    return list(random.uniform(-1, 1, size=shape).astype(np.float32))


def _filled(rows: np.ndarray) -> np.ndarray:
    return np.any(rows.reshape(len(rows), -1) != 0, axis=1)


def _check_array(
    name: str, value: object, shape: tuple[int, ...], kind: type[np.generic], where: str
) -> None:
    if not isinstance(value, np.ndarray):
        _fail(f"{name} is a {type(value).__name__}, no array, {where}")
    _check(value.shape == shape, f"{name} has shape {value.shape} and not {shape} {where}")
    _check(value.dtype == kind, f"{name} is {value.dtype} and not {np.dtype(kind)} {where}")
    finite = np.isfinite(value)
    if not finite.all():
        place = np.argwhere(~finite)[0]
        whose = "thing" if name == "frame" else "agent"
        _fail(f"{name} of {whose} {place[0]} is {value[tuple(place)]} {where}")


def _check_none(agents: np.ndarray, what: str, where: str) -> None:
    if agents.any():
        _fail(f"agent {int(np.argmax(agents))} {what} {where}")


def _check(holds: bool, broken: str) -> None:
    if not holds:
        _fail(broken)


def _fail(broken: str, cause: Exception | None = None) -> NoReturn:
    raise WorldError(f"this world breaks a promise: {broken}.") from cause
