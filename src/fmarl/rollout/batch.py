"""A slot as a worker is asked for it and as it comes back, and where its world stands after it.

First axis time, second axis agent. A slot of 250 steps of 7 agents is about 100 kB, so both the
observation acted on and the one it led to are sent in full: simple, and right where an agent
restarted in between.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32

from fmarl.rollout.policy import Policy, PolicyParameters
from fmarl.wire import Garbled, Message
from fmarl.worlds.world import WorldSpec


class SlotRequest(NamedTuple):
    """A slot that a world is to play; `play.play_slot` says what each part means."""

    policy: Policy
    slot: int
    steps: int
    until_over: bool = False
    frames: bool = False

    def message(self) -> Message:
        """The arrays are the networks' layers in order."""
        _, slot, steps, until_over, frames = self
        kind, parameters, activation = self.policy
        facts = {
            "policy": kind,
            "activation": activation,
            "slot": slot,
            "steps": steps,
            "until_over": until_over,
            "frames": frames,
        }
        if parameters is None:
            return Message("play", facts, {})
        arrays = {f"weights {layer}": array for layer, array in enumerate(parameters.weights)}
        arrays |= {f"biases {layer}": array for layer, array in enumerate(parameters.biases)}
        return Message("play", facts, {**arrays, "log_std": parameters.log_std})

    @classmethod
    def of(cls, message: Message) -> "SlotRequest":
        """What `message` has written."""
        facts, arrays = dict(message.facts), message.arrays
        kind, activation = facts.pop("policy"), facts.pop("activation")
        parameters = None
        if "log_std" in arrays:
            layers = range(len(arrays) // 2)
            parameters = PolicyParameters(
                tuple(arrays[f"weights {layer}"] for layer in layers),
                tuple(arrays[f"biases {layer}"] for layer in layers),
                arrays["log_std"],
            )
        return cls(Policy(kind, parameters, activation), **facts)


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
    frames: Float32[np.ndarray, "time thing 3"] | None = None
    """What the world showed after each step, before any reset; not a number where it showed fewer
    things than at other times. None unless asked for; a world without a picture shows 0 things."""

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The fields that are arrays, by name."""
        fields = self._asdict().items()
        return {name: value for name, value in fields if isinstance(value, np.ndarray)}

    @property
    def mean_reward(self) -> float:
        """Mean over the steps of those agents that were present; zero if nobody was."""
        with np.errstate(over="ignore"):  # what is infinite is left out of the metrics
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


def shortened(batch: Batch, steps: int) -> Batch:
    """Return the first steps of a slot, for one that stopped early."""
    rows = {name: array[:steps] for name, array in batch.arrays.items()}
    return batch._replace(**{**rows, "next_observation": batch.next_observation})


def stacked(frames: Sequence[Float32[np.ndarray, "_ 3"]]) -> Float32[np.ndarray, "time thing 3"]:
    """Return frames as one array; where a frame has fewer things than another, not a number."""
    most = max(len(frame) for frame in frames)
    room = np.full((len(frames), most, 3), np.nan, np.float32)
    for place, frame in zip(room, frames, strict=True):
        place[: len(frame)] = frame
    return room


def advance(snapshot: Snapshot, batch: Batch, *, until_over: bool = False) -> Snapshot:
    """Return where a world stands after a slot that began at the snapshot.

    After a slot that was played `until_over` and got there, the next epoch is not begun yet.
    """
    if until_over and batch.over[-1]:
        return Snapshot(snapshot.epoch + 1, snapshot.actions[:0], "")
    ends = np.flatnonzero(batch.over)
    digest = observation_digest(batch.next_observation)
    if len(ends) == 0:
        actions = np.concatenate([snapshot.actions, batch.action])
        return Snapshot(snapshot.epoch, actions, digest)
    return Snapshot(snapshot.epoch + len(ends), batch.action[ends[-1] + 1 :].copy(), digest)


def observation_digest(observation: np.ndarray) -> str:
    """Return the sha256 of an observation's bits."""
    return hashlib.sha256(np.ascontiguousarray(observation).data).hexdigest()


def columns_of(batches: Sequence[Batch]) -> dict[str, np.ndarray]:
    """What learners are told of the slots of several worlds, their agents side by side."""
    names = ("observation", "successor", "action", "reward", "present", "terminated")
    arrays = {name: [batch.arrays[name] for batch in batches] for name in names}
    arrays["ended"] = [one.terminated | one.truncated | one.over[:, None] for one in batches]
    return {name: np.concatenate(parts, axis=1) for name, parts in arrays.items()}


def batch_reply(batch: Batch) -> Message:
    """Hand over a slot."""
    return Message("batch", {"epoch": batch.epoch, "step": batch.step}, batch.arrays)


def batch_of(reply: Message, spec: WorldSpec, asked: SlotRequest, snapshot: Snapshot) -> Batch:
    """The batch of a reply; `Garbled` unless it is the slot that was asked for."""
    played = _steps_played(reply.arrays, asked.steps) if asked.until_over else asked.steps
    room = empty_batch(spec, played, snapshot.epoch, len(snapshot.actions))
    if asked.frames:
        shown = reply.arrays.get("frames", room.over)
        # As many things as it says: the one length that the run can not know.
        room = room._replace(frames=np.zeros((played, *shown.shape[1:2], 3), np.float32))
    if _pattern(reply.arrays) != _pattern(room.arrays):
        raise Garbled(f"an answer {reply.kind!r} whose arrays are not those of a slot")
    if reply.facts != {"epoch": room.epoch, "step": room.step}:
        raise Garbled(f"a slot that began elsewhere: {reply.facts}")
    return room._replace(**reply.arrays)


def _pattern(arrays: dict[str, np.ndarray]) -> list[tuple[str, np.dtype, tuple[int, ...]]]:
    return [(name, array.dtype, array.shape) for name, array in arrays.items()]


def _steps_played(arrays: dict[str, np.ndarray], steps: int) -> int:
    """Length of a slot that may stop with its epoch: all its steps unless it says that it did."""
    over = arrays.get("over", np.zeros(0, np.bool_))
    stopped = over.ndim == 1 and 0 < len(over) < steps and over[-1]
    return len(over) if stopped else steps
