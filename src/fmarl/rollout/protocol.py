"""What a run and a worker say to each other: three requests, each with one answer.

| request | says | answer |
|---|---|---|
| `make` | which world, its seeds, where to stand | `ready` with the world's spec |
| `restore` | where to stand | `ready` with the world's spec |
| `play` | policy, slot, steps, whether to stop with the epoch, whether to draw | `batch` |

Any of them may be answered by `refused`: a `BadInput` of the world, as its one line.
"""

import dataclasses
import importlib
from typing import Any, NamedTuple

import numpy as np

from fmarl.rollout.batch import Batch, Snapshot, empty_batch
from fmarl.rollout.policy import Policy, PolicyParameters
from fmarl.wire import Garbled, Message
from fmarl.worlds.world import World, WorldSpec


class WorldMaker(NamedTuple):
    """How a worker makes its world: a function by its dotted name, called with word and options.

    The name comes from our own code, never from a file or a peer: whoever chooses it runs code.
    """

    word: str
    """What the user typed, such as `figure-eight`."""
    options: dict[str, Any]
    """Keyword arguments, such as JSON can hold."""
    factory: str
    """`module:function`; the function takes the word and the options and returns a `World`."""

    def make(self) -> World:
        module, _, name = self.factory.partition(":")
        return getattr(importlib.import_module(module), name)(self.word, **self.options)


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


def make_request(
    maker: WorldMaker, run_seed: int, index: int, snapshot: Snapshot | None
) -> Message:
    """Ask for a world that stands at a snapshot, or at the start of its first epoch."""
    facts = {"maker": maker._asdict(), "run_seed": run_seed, "index": index}
    return _with_snapshot(Message("make", facts, {}), snapshot)


def restore_request(snapshot: Snapshot | None) -> Message:
    """Ask a world to stand elsewhere."""
    return _with_snapshot(Message("restore", {}, {}), snapshot)


def ready_reply(spec: WorldSpec) -> Message:
    """Say that the world stands where it should, and what its shapes are."""
    return Message("ready", {"spec": dataclasses.asdict(spec)}, {})


def batch_reply(batch: Batch) -> Message:
    """Hand over a slot."""
    return Message("batch", {"epoch": batch.epoch, "step": batch.step}, batch.arrays)


def snapshot_of(request: Message) -> Snapshot | None:
    """Where a `make` or `restore` request wants the world to stand."""
    if "epoch" not in request.facts:
        return None
    return Snapshot(request.facts["epoch"], request.arrays["actions"], request.facts["digest"])


def spec_of(reply: Message) -> WorldSpec:
    """The spec of a `ready` reply; `Garbled` if it is none."""
    try:
        return WorldSpec(**reply.facts["spec"])
    except (KeyError, TypeError):
        raise Garbled(f"an answer {reply.kind!r} without a spec") from None


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


def _with_snapshot(message: Message, snapshot: Snapshot | None) -> Message:
    if snapshot is None:
        return message
    facts = {**message.facts, "epoch": snapshot.epoch, "digest": snapshot.digest}
    return message._replace(facts=facts, arrays={"actions": snapshot.actions})
