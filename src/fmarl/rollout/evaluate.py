"""Tests of a policy: whole epochs, the same ones in every test, so that results can be compared.

    with Evaluator(maker, run_seed=1, repetitions=5) as evaluator:
        evaluator.evaluate(Policy("greedy", parameters)).mean

The epochs derive from the run seed alone. So methods that share a run seed, and all the tests of
one run, meet the same starts and the same chance (common random numbers): what differs between
two results is the policy. Nothing is remembered from test to test: a resumed run gives the same
bits.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32

from fmarl.closeable import Closeable
from fmarl.errors import BadInput, require
from fmarl.rollout.batch import Batch, epoch_start, stacked
from fmarl.rollout.policy import Policy
from fmarl.rollout.pool import DEFAULT_RESTARTS, WorldPool
from fmarl.rollout.protocol import WorldMaker
from fmarl.rollout.restarts import RestartPolicy
from fmarl.rollout.seeds import derived_seed

MOST_REPETITIONS = 10_000
"""Epochs of a test; what is known of each is kept until its end."""
PIECE_STEPS = 250
"""Steps asked for at once. An epoch is played in pieces so that its length is no matter for the
patience of `RestartPolicy` and for the size of a message; 250 is the paper's slot."""


class Evaluation(NamedTuple):
    """What a test found, one entry per epoch unless it says otherwise."""

    rewards: list[float]
    """Mean reward (`mean_reward`); on roads the normalised average speed."""
    steps: list[int]
    """How long the epoch lasted."""
    crashed: list[bool]
    """Whether it ended for good before its time, as by a collision."""
    returns: list[float]
    """One entry per agent: what its first episode of an epoch brings, mean over the epochs
    (`first_returns`); not a number for an agent that never came."""
    frames: Float32[np.ndarray, "time thing 3"] | None
    """What was to be seen after each step of the first epoch, if asked for and if anything was."""

    @property
    def mean(self) -> float:
        """Mean reward of the test: the number to plot."""
        return float(np.mean(self.rewards))


class Epoch(NamedTuple):
    """What is to be known of an epoch, from its reset to its end, to mark it."""

    reward: Float32[np.ndarray, "time agent"]
    present: Bool[np.ndarray, "time agent"]
    terminated: Bool[np.ndarray, "time agent"]
    truncated: Bool[np.ndarray, "time agent"]


class Evaluator(Closeable):
    """A world of its own for the tests of a run. Use it in a `with`."""

    def __init__(
        self,
        maker: WorldMaker,
        run_seed: int,
        repetitions: int,
        restarts: RestartPolicy = DEFAULT_RESTARTS,
    ) -> None:
        what, fix = f"repetitions = {repetitions}", "Use 5, as the paper does."
        require(1 <= repetitions <= MOST_REPETITIONS, what, f"1 to {MOST_REPETITIONS}", fix)
        self._repetitions = repetitions
        seed = derived_seed(run_seed, "test")
        self.pool = WorldPool([maker], run_seed=seed, restarts=restarts, role="test")
        """The world; `pool.events` says what went wrong in tests and was put right."""

    def evaluate(
        self,
        policy: Policy,
        *,
        frames: bool = False,
        played: Callable[[int], None] = lambda epochs: None,
    ) -> Evaluation:
        """Play every epoch of the test with a policy; `frames` are kept of the first one.

        `played` is told after each epoch how many there have been.
        """
        [spec] = self.pool.specs
        epochs, seen = [], None
        for epoch in range(self._repetitions):
            pieces = self._play(policy, epoch, frames=frames and epoch == 0)
            seen = _frames_of(pieces) if frames and epoch == 0 else seen
            epochs.append(epoch_of(pieces))
            played(len(epochs))
        return Evaluation(
            rewards=[mean_reward(epoch, spec.epoch_steps) for epoch in epochs],
            steps=[len(epoch.reward) for epoch in epochs],
            crashed=[has_crashed(epoch, spec.epoch_steps) for epoch in epochs],
            returns=_means([first_returns(epoch) for epoch in epochs]).tolist(),
            frames=seen,
        )

    def close(self) -> None:
        """End the world's process; harmless when called twice."""
        self.pool.close()

    def _play(self, policy: Policy, epoch: int, *, frames: bool) -> list[Batch]:
        """The pieces of one epoch. Their noise does not depend on how long other epochs lasted."""
        [spec] = self.pool.specs
        most, pieces = math.ceil(spec.epoch_steps / PIECE_STEPS), []
        self.pool.restore([epoch_start(spec, epoch)], slot=epoch * most)
        for _ in range(most):
            pieces += self.pool.play(policy, PIECE_STEPS, until_over=True, frames=frames)
            if pieces[-1].over[-1]:
                return pieces
        raise BadInput(
            f"{spec.name} going on after {most * PIECE_STEPS} steps is not allowed: an epoch has "
            f"at most epoch_steps = {spec.epoch_steps}. Let the world end it."
        )


def epoch_of(pieces: Sequence[Batch]) -> Epoch:
    """Put an epoch together from the slots it was played in."""
    return Epoch(
        *(np.concatenate([piece.arrays[name] for piece in pieces]) for name in Epoch._fields)
    )


def has_crashed(epoch: Epoch, epoch_steps: int) -> bool:
    """Whether an epoch ended before its time limit T and nobody was cut off: it ended for good."""
    return len(epoch.reward) < epoch_steps and not epoch.truncated[-1].any()


def mean_reward(epoch: Epoch, epoch_steps: int) -> float:
    """Mean over the steps of an epoch of the mean reward of the agents that were there.

    Steps in which nobody was there say nothing and are left out; zero if nobody ever was. After a
    crash nothing more is earned, so the steps that the epoch still had up to T count as zeros. The
    paper wants the average speed over the *entire* testing epoch, and a later script of its
    authors' lab divides the sum by T = 1500; a mean over the steps before the crash would praise
    whoever crashes at full speed. It is also what the learners are told: nothing follows. So a game
    with a shorter limit of its own should be made with that limit as `epoch_steps`.
    """
    counts = epoch.present.sum(axis=1)
    totals = epoch.reward.sum(axis=1, dtype=np.float64, where=epoch.present)
    seen = counts > 0
    lost = epoch_steps - len(counts) if has_crashed(epoch, epoch_steps) else 0
    return float((totals[seen] / counts[seen]).sum() / max(seen.sum() + lost, 1))


def first_returns(epoch: Epoch) -> Float[np.ndarray, " agent"]:
    """Sum of the rewards of each agent's first episode; not a number if it was never there.

    Where agents restart alone (`gym:ID`) an epoch holds many episodes, and the one that is running
    when it ends is cut short. Counting it, or leaving it out, would both favour short episodes, so
    only the first ones count: all of them are whole if an episode fits into an epoch.
    """
    ends = epoch.present & (epoch.terminated | epoch.truncated)
    ended_before = np.cumsum(ends, axis=0) > ends
    first = epoch.present & ~ended_before
    sums = epoch.reward.sum(axis=0, dtype=np.float64, where=first)
    return np.where(first.any(axis=0), sums, np.nan)


def _means(rows: Sequence[Float[np.ndarray, " agent"]]) -> Float[np.ndarray, " agent"]:
    """Means over the epochs, of the numbers among them."""
    values = np.array(rows)
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # an agent that never came has no mean
        return values.sum(axis=0, where=known) / known.sum(axis=0)


def _frames_of(pieces: Sequence[Batch]) -> Float32[np.ndarray, "time thing 3"] | None:
    shown = [piece.frames for piece in pieces if piece.frames is not None]
    whole = stacked([frame for frames in shown for frame in frames])
    return whole if whole.size else None
