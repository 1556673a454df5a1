"""A world for every way to break a promise: each must be caught, by its name."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.worlds.check import WorldError, check_world
from fmarl.worlds.gymnasium_world import gymnasium_world
from fmarl.worlds.toy import quadratic_world
from fmarl.worlds.world import Observation, Step, World, WorldSpec


class Bent:
    """A good world with hooks to spoil it; each broken world below bends one thing."""

    def __init__(self, inner: World) -> None:
        self.inner = inner
        self.time = 0
        self.closed = False

    @property
    def spec(self) -> WorldSpec:
        return self.inner.spec

    def reset(self, seed: int) -> Observation:
        self.time = 0
        return self.inner.reset(seed)

    def step(self, action: np.ndarray) -> Step:
        step = self.bend(self.inner.step(action))
        self.time += 1
        return step

    def bend(self, step: Step) -> Step:
        return step

    def frame(self) -> np.ndarray | None:
        return self.inner.frame()

    def close(self) -> None:
        self.closed = True
        self.inner.close()

    def __enter__(self) -> World:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def toy() -> World:
    return quadratic_world(3, reward_noise=0.1, epoch_steps=20)


def cartpole() -> World:
    return gymnasium_world("CartPole-v1", num_agents=3, epoch_steps=40)


def bent(change: Callable[[Step], dict[str, object]], at: int = 4) -> Callable[[], World]:
    """Worlds whose step number `at` of every epoch has some fields replaced."""

    class Changed(Bent):
        def bend(self, step: Step) -> Step:
            return step._replace(**change(step)) if self.time == at else step

    return lambda: Changed(toy())


def second(value: float, like: np.ndarray) -> np.ndarray:
    """Copy with the row of agent 1 replaced."""
    rows = like.copy()
    rows[1] = value
    return rows


class Misshapen(Bent):
    @property
    def spec(self) -> WorldSpec:
        return WorldSpec(
            name="none", num_agents=3, observation_size=0, num_actions=1, epoch_steps=20
        )


class Renamed(Bent):
    count = 0

    @property
    def spec(self) -> WorldSpec:
        Renamed.count += 1
        spec = self.inner.spec
        return WorldSpec(
            name=f"toy {Renamed.count}",
            num_agents=spec.num_agents,
            observation_size=1,
            num_actions=1,
            epoch_steps=spec.epoch_steps,
        )


class WrongFirst(Bent):
    def reset(self, seed: int) -> Observation:
        return super().reset(seed).astype(np.float64)  # type: ignore[return-value]


class WrongFrame(Bent):
    def frame(self) -> np.ndarray | None:
        return np.zeros((2, 3), dtype=np.float32)  # three agents


class Framed(Bent):
    def __init__(self, inner: World, rows: Sequence[Sequence[float]]) -> None:
        super().__init__(inner)
        self.rows = rows

    def frame(self) -> np.ndarray | None:
        return np.array(self.rows, dtype=np.float32)


class SharedBuffer(Bent):
    rewards = np.zeros(3, dtype=np.float32)

    def bend(self, step: Step) -> Step:
        self.rewards[:] = step.reward
        return step._replace(reward=self.rewards)


class SharedFirst(Bent):
    """Gives out the array in which it keeps count."""

    def reset(self, seed: int) -> Observation:
        self.first = super().reset(seed)
        return self.first

    def bend(self, step: Step) -> Step:
        self.first += 1
        return step


class Meddler(Bent):
    def step(self, action: np.ndarray) -> Step:
        step = super().step(action)
        action[1] = 0.0
        return step


class Ghost(Bent):
    """Agent 1 goes away after its fifth step, and its observation stays."""

    def bend(self, step: Step) -> Step:
        if self.time < 5:
            return step
        return step._replace(
            present=second(False, step.present),
            successor=second(0, step.successor),
            reward=second(0, step.reward),
            truncated=second(False, step.truncated),
        )


class Endless(Bent):
    """Never over: it begins a new epoch on its own instead."""

    def bend(self, step: Step) -> Step:
        if step.over:
            self.inner.reset(0)
        return step._replace(over=False)


class NeedsNoReset(Bent):
    """Steps on after the end, and before the beginning."""

    def __init__(self, inner: World, also_before: bool) -> None:
        super().__init__(inner)
        if also_before:
            inner.reset(0)

    def bend(self, step: Step) -> Step:
        if step.over:
            self.inner.reset(0)
        return step


class Crasher(Bent):
    """Raises something else where it should refuse."""

    def step(self, action: np.ndarray) -> Step:
        try:
            return super().step(action)
        except BadInput:
            raise RuntimeError("worker died") from None


class Forgetful(Bent):
    """Does not begin anew: the second epoch with a seed is not the first."""

    def __init__(self, inner: World) -> None:
        super().__init__(inner)
        self.resets = 0

    def reset(self, seed: int) -> Observation:
        self.resets += 1
        return super().reset(seed + 1000 * self.resets)


class Individual(Bent):
    """No two worlds are alike."""

    count = 0

    def __init__(self, inner: World) -> None:
        super().__init__(inner)
        Individual.count += 1
        self.number = Individual.count

    def reset(self, seed: int) -> Observation:
        return super().reset(seed + 1000 * self.number)


class Careless(Bent):
    """Takes what is not a number for zero."""

    def step(self, action: np.ndarray) -> Step:
        return super().step(np.nan_to_num(action, posinf=0.0, neginf=0.0))


class Lenient(Bent):
    """Drops columns and rows that are too many."""

    def step(self, action: np.ndarray) -> Step:
        return super().step(action[:3, :1])


class Rounding(Bent):
    """Takes half a choice for a whole one."""

    def step(self, action: np.ndarray) -> Step:
        return super().step(np.where(np.isfinite(action), np.floor(action), action))


class Wrapping(Bent):
    """Takes choices round the corner."""

    def step(self, action: np.ndarray) -> Step:
        whole = np.isfinite(action) & (action == np.floor(action))
        return super().step(np.where(whole, np.where(whole, action, 0) % 2, action))


class Shaken(Bent):
    """Refuses, but goes on differently."""

    def step(self, action: np.ndarray) -> Step:
        try:
            return super().step(action)
        except BadInput:
            if self.time:
                self.inner.step(np.zeros((3, 1), dtype=np.float32))
            raise


class ClosesOnce(Bent):
    def close(self) -> None:
        if self.closed:
            raise OSError("already closed")
        super().close()


BROKEN: dict[str, tuple[Callable[[], World], str]] = {
    "empty observation": (lambda: Misshapen(toy()), "spec.observation_size is 0"),
    "spec that changes": (lambda: Renamed(toy()), "the spec changed"),
    "first observation of float64": (
        lambda: WrongFirst(toy()),
        "observation is float64 and not float32 from reset(0)",
    ),
    "frame without an agent": (lambda: WrongFrame(toy()), "frame has shape (2, 3)"),
    "frame with half an agent": (
        lambda: Framed(toy(), [[0, 0, 0], [0, 0, np.nan], [0, 0, 0]]),
        "frame of thing 1 is nan after reset(0)",
    ),
    "frame with a thing nowhere": (
        lambda: Framed(toy(), [[0, 0, 0]] * 3 + [[np.nan] * 3]),
        "frame of thing 3 is nan",
    ),
    "reward of float64": (
        bent(lambda step: {"reward": step.reward.astype(np.float64)}),
        "reward is float64 and not float32 at step 4 of seed 0",
    ),
    "reward as a list": (bent(lambda step: {"reward": [0.0] * 3}), "reward is a list"),
    "flags of uint8": (
        bent(lambda step: {"terminated": step.terminated.astype(np.uint8)}),
        "terminated is uint8 and not bool",
    ),
    "over of numpy": (bent(lambda step: {"over": np.bool_(False)}), "over is np.False_"),
    "observation without a row": (
        bent(lambda step: {"observation": step.observation[1:]}),
        "observation has shape (2, 1) and not (3, 1)",
    ),
    "successor without a column": (
        bent(lambda step: {"successor": step.successor[:, :0]}),
        "successor has shape (3, 0)",
    ),
    "reward that is no number": (
        bent(lambda step: {"reward": second(np.nan, step.reward)}),
        "reward of agent 1 is nan at step 4",
    ),
    "infinite observation": (
        bent(lambda step: {"observation": second(np.inf, step.observation)}),
        "observation of agent 1 is inf at step 4",
    ),
    "buffer used again": (lambda: SharedBuffer(toy()), "changed later"),
    "first observation used again": (lambda: SharedFirst(toy()), "changed later"),
    "actions changed": (lambda: Meddler(toy()), "the actions given were changed at step 0"),
    "absent with a reward": (
        bent(
            lambda step: {
                "present": second(False, step.present),
                "successor": second(0, step.successor),
            }
        ),
        "agent 1 is absent, but its reward is not zero at step 4",
    ),
    "absent with a successor": (
        bent(lambda step: {"present": second(False, step.present)}),
        "agent 1 is absent, but its successor is not zero at step 4",
    ),
    "absent and terminated": (
        bent(
            lambda step: {
                "present": second(False, step.present),
                "successor": second(0, step.successor),
                "reward": second(0, step.reward),
                "terminated": second(True, step.terminated),
            }
        ),
        "agent 1 is absent, but its terminated is not zero",
    ),
    "absent with an observation": (lambda: Ghost(toy()), "its observation before was not zero"),
    "two ends at once": (
        bent(lambda step: {"terminated": step.present, "truncated": step.present}),
        "agent 0 is terminated and truncated at once at step 4",
    ),
    "jump without an end": (
        bent(lambda step: {"observation": second(5.0, step.observation)}),
        "agent 1 did not end, but observation is not successor at step 4",
    ),
    "over without an end": (
        bent(lambda step: {"truncated": second(False, step.truncated)}, at=19),
        "agent 1 has not ended though the epoch is over at step 19",
    ),
    "never over": (
        lambda: Endless(toy()),
        "not over after 20 = epoch_steps steps",
    ),
    "steps after the end": (
        lambda: NeedsNoReset(toy(), False),
        "a step after the epoch was over, at step 19 of seed 0 is accepted",
    ),
    "steps before the beginning": (
        lambda: NeedsNoReset(toy(), True),
        "a step before the first reset is accepted",
    ),
    "another error": (lambda: Crasher(toy()), "raises RuntimeError and not BadInput"),
    "second reset": (lambda: Forgetful(toy()), "after a second reset with its seed: reward"),
    "second world": (lambda: Individual(toy()), "other bits in a second world: reward"),
    "nan accepted": (lambda: Careless(toy()), "action nan of the last agent is accepted"),
    "any shape accepted": (lambda: Lenient(toy()), "actions of shape (4, 1) is accepted"),
    "half a choice": (lambda: Rounding(cartpole()), "action 0.5 of the last agent is accepted"),
    "choice below zero": (lambda: Wrapping(cartpole()), "action -1.0 of the last agent"),
    "refusal with a trace": (lambda: Shaken(toy()), "refused actions changed reward of agent 0"),
    "no chance": (lambda: quadratic_world(3), "seeds (0, 1) give the same bits"),
    "closed once only": (lambda: ClosesOnce(toy()), "closing a second time raises OSError"),
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_broken_promise_is_caught_and_named(promise):
    make, words = BROKEN[promise]
    with pytest.raises(WorldError) as caught:
        check_world(make, steps=60)
    message = str(caught.value)
    assert words in message
    assert message.startswith("this world breaks a promise: ") and "\n" not in message


@pytest.mark.parametrize("make", [toy, cartpole])
def test_an_unbent_world_passes(make):
    check_world(lambda: Bent(make()), steps=60)


def test_an_absent_agent_may_be_nowhere_in_the_frame():
    check_world(lambda: Framed(toy(), [[0, 0, 0], [np.nan] * 3, [0, 0, 0], [1, 2, 3]]))


def test_a_world_without_chance_may_say_so():
    check_world(lambda: quadratic_world(3), must_vary=False)


def test_what_is_not_a_world_is_told_what_it_lacks():
    class NoFrame(Bent):
        frame = None  # type: ignore[assignment]

    with pytest.raises(WorldError, match="lacks a method"):
        check_world(lambda: NoFrame(toy()))


def test_a_check_that_could_see_nothing_is_refused():
    with pytest.raises(BadInput, match="steps = 0"):
        check_world(toy, steps=0)
    with pytest.raises(BadInput, match="seeds"):
        check_world(toy, seeds=(0,))
