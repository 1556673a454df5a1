"""A world in a process of its own, one message per step: for users who want several roads at once.

libsumo holds one simulation per process, so `figure_eight.parallel_env()` lives here. Training does
not: `fmarl.rollout` plays whole slots inside a worker and sends one message per slot. The child
ends when its parent closes the connection or dies.
"""

import socket
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Float32

from fmarl import wire
from fmarl.child_process import connection_to_parent, start_connected
from fmarl.closeable import Closeable
from fmarl.errors import BadInput
from fmarl.wire import Message
from fmarl.worlds.world import Observation, Step, World, WorldSpec


class RemoteWorld(Closeable):
    """The world that a word names, in a child process."""

    def __init__(self, word: str, **options: Any) -> None:
        self._child, connection = start_connected("fmarl.worlds.remote")
        self._connection: socket.socket | None = connection
        try:
            made = self._ask(Message("make", {"word": word, "options": options}, {}))
        except BaseException:
            self.close()
            raise
        self.spec = WorldSpec(**made.facts)

    def reset(self, seed: int) -> Observation:
        return self._ask(Message("reset", {"seed": seed}, {})).arrays["observation"].copy()

    def step(self, action: np.ndarray) -> Step:
        reply = self._ask(Message("step", {}, {"action": np.asarray(action, dtype=np.float32)}))
        # Copies, which the caller may change; what is received is read-only.
        arrays = {name: array.copy() for name, array in reply.arrays.items()}
        return Step(**arrays, over=reply.facts["over"])

    def frame(self) -> Float32[np.ndarray, "thing 3"] | None:
        return self._ask(Message("frame", {}, {})).arrays.get("frame")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._child.process.wait()
            self._child.kill()

    def _ask(self, request: Message) -> Message:
        if self._connection is None:
            raise BadInput("a closed world is not allowed: make a new one.")
        try:
            wire.send(self._connection, request)
            reply = wire.receive(self._connection)
        except OSError:
            reply = None
        if reply is None:
            raise RuntimeError(f"the world's process ended with code {self._child.process.wait()}")
        if reply.kind == "refused":
            raise BadInput(reply.facts["line"])
        return reply


def serve(connection: socket.socket) -> None:
    """The child's side: make the world that is asked for first, then do as asked."""
    request = wire.receive(connection)
    if request is None:
        return
    with _make(request.facts["word"], request.facts["options"]) as world:
        wire.send(connection, Message("made", asdict(world.spec), {}))
        while (request := wire.receive(connection)) is not None:
            try:
                reply = _answer(world, request)
            except BadInput as error:
                reply = Message("refused", {"line": str(error)}, {})
            wire.send(connection, reply)


def _make(word: str, options: dict[str, Any]) -> World:
    from fmarl.worlds.registry import make_world  # which itself knows this file, through the roads

    return make_world(word, **options)


def _answer(world: World, request: Message) -> Message:
    if request.kind == "reset":
        return Message("began", {}, {"observation": world.reset(request.facts["seed"])})
    if request.kind == "step":
        step = world.step(request.arrays["action"])._asdict()
        return Message("stepped", {"over": bool(step.pop("over"))}, step)
    frame = world.frame()
    return Message("frame", {}, {} if frame is None else {"frame": frame})


def main() -> None:
    """Serve the parent that started this process."""
    with connection_to_parent() as parent:
        try:
            serve(parent)
        except BadInput as error:  # the world could not be made
            wire.send(parent, Message("refused", {"line": str(error)}, {}))


if __name__ == "__main__":
    main()
