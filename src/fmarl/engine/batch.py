"""What a worker sends back for a slot, and how the place where a world stands follows from it.

First axis time, second axis agent. A slot of 250 steps of 7 agents is about 100 kB, so both the
observation acted on and the one it led to are sent in full: simple, and right where an agent
restarted in between.
"""

import hashlib
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32

from fmarl.worlds.world import WorldSpec


class Batch(NamedTuple):
    """P transitions of every agent of one world, in the order they happened."""

    observation: Float32[np.ndarray, "time agent observation"]
    """What each agent saw and acted on."""
    successor: Float32[np.ndarray, "time agent observation"]
    """What its action led to, for estimates of the future; never an observation after a reset."""
    action: Float32[np.ndarray, "time agent action"]
    """Raw: the world was given these clipped to −1 … 1."""
    reward: Float32[np.ndarray, "time agent"]
    present: Bool[np.ndarray, "time agent"]
    terminated: Bool[np.ndarray, "time agent"]
    truncated: Bool[np.ndarray, "time agent"]
    over: Bool[np.ndarray, " time"]
    """Whether the epoch of all agents ended with this step, and the world was reset after it."""
    next_observation: Float32[np.ndarray, "agent observation"]
    """What the next slot begins with."""
    epoch: int
    """Index of the epoch in which the slot began."""
    step: int
    """Steps of that epoch that were played before the slot."""

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The fields that are arrays, by name."""
        return {name: value for name, value in self._asdict().items() if not isinstance(value, int)}

    @property
    def mean_reward(self) -> float:
        """Mean over the steps of those agents that were present; zero if nobody was."""
        return float(self.reward.mean(where=self.present)) if self.present.any() else 0.0

    def digest(self) -> str:
        """Return the sha256 of every bit of it, shapes included."""
        whole = hashlib.sha256(f"{self.epoch} {self.step}".encode())
        for name, array in self.arrays.items():
            whole.update(f" {name} {array.dtype} {array.shape} ".encode())
            whole.update(np.ascontiguousarray(array).data)
        return whole.hexdigest()


class Snapshot(NamedTuple):
    """Where a world stands: its epoch, and all that was done in it. Playing that again leads back.

    Plain data, for JSON and arrays in a checkpoint; the world's own state is never stored.
    """

    epoch: int
    actions: Float32[np.ndarray, "time agent action"]
    """Raw actions since the epoch began."""
    digest: str
    """sha256 of the observation to act on next; empty if the epoch has not been begun."""


def empty_batch(spec: WorldSpec, steps: int, epoch: int = 0, step: int = 0) -> Batch:
    """Return a batch of zeros: room for a slot, and the pattern that an answer must fit."""
    rows, seen = (steps, spec.num_agents), spec.observation_size
    return Batch(
        observation=np.zeros((*rows, seen), np.float32),
        successor=np.zeros((*rows, seen), np.float32),
        action=np.zeros((*rows, spec.action_size), np.float32),
        reward=np.zeros(rows, np.float32),
        present=np.zeros(rows, np.bool_),
        terminated=np.zeros(rows, np.bool_),
        truncated=np.zeros(rows, np.bool_),
        over=np.zeros(steps, np.bool_),
        next_observation=np.zeros((spec.num_agents, seen), np.float32),
        epoch=epoch,
        step=step,
    )


def epoch_start(spec: WorldSpec, epoch: int = 0) -> Snapshot:
    """Return where a world stands before the first step of an epoch."""
    return Snapshot(epoch, np.zeros((0, spec.num_agents, spec.action_size), np.float32), "")


def advance(snapshot: Snapshot, batch: Batch) -> Snapshot:
    """Return where a world stands after a slot that began at the snapshot."""
    ends = np.flatnonzero(batch.over)
    digest = observation_digest(batch.next_observation)
    if len(ends) == 0:
        actions = np.concatenate([snapshot.actions, batch.action])
        return Snapshot(snapshot.epoch, actions, digest)
    return Snapshot(snapshot.epoch + len(ends), batch.action[ends[-1] + 1 :].copy(), digest)


def observation_digest(observation: np.ndarray) -> str:
    """Return the sha256 of an observation's bits."""
    return hashlib.sha256(np.ascontiguousarray(observation).data).hexdigest()
