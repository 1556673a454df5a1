"""What a run and a worker say to each other: three requests, each with one answer.

The first two are here, `play` and its `batch` in `batch.py`.

| request | says | answer |
|---|---|---|
| `make` | which world, its seeds, where to stand | `ready` with the world's spec |
| `restore` | where to stand | `ready` with the world's spec |
| `play` | policy, slot, steps, whether to stop with the epoch, whether to draw | `batch` |

Any of them may be answered by `refused`, a `BadInput` of the world as its one line, or by `failed`,
any other exception of its code. Then the worker ends.
"""

import dataclasses
import importlib
from typing import Any, NamedTuple

from fmarl.rollout.batch import Snapshot
from fmarl.user_code import Failure
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
    repeats: bool = True
    """Whether it must show the same again when an epoch is played again; else an epoch in which it
    does not begins anew."""

    def make(self) -> World:
        module, _, name = self.factory.partition(":")
        return getattr(importlib.import_module(module), name)(self.word, **self.options)


def make_request(
    maker: WorldMaker, run_seed: int, index: int, snapshot: Snapshot | None
) -> Message:
    """Ask for a world that stands at a snapshot, or at the start of its first epoch."""
    facts = {"maker": maker._asdict(), "run_seed": run_seed, "index": index}
    return _with_snapshot(Message("make", facts, {}), snapshot)


def restore_request(snapshot: Snapshot | None) -> Message:
    """Ask a world to stand elsewhere."""
    return _with_snapshot(Message("restore", {}, {}), snapshot)


def ready_reply(spec: WorldSpec, step: int) -> Message:
    """Say at which step of its epoch the world stands, and what its shapes are."""
    return Message("ready", {"spec": dataclasses.asdict(spec), "step": step}, {})


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


def failure_in(reply: Message) -> Failure:
    """What a `failed` reply tells; `Garbled` if it tells something else."""
    facts = reply.facts
    if set(facts) != set(Failure._fields) or not all(type(one) is str for one in facts.values()):
        raise Garbled("a failure that is none")
    return Failure(**facts)


def _with_snapshot(message: Message, snapshot: Snapshot | None) -> Message:
    if snapshot is None:
        return message
    facts = {**message.facts, "epoch": snapshot.epoch, "digest": snapshot.digest}
    return message._replace(facts=facts, arrays={"actions": snapshot.actions})
