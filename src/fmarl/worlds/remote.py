"""A world in a process of its own, one message per step: for users who want several roads at once.

libsumo holds one simulation per process, so `figure_eight.parallel_env()` lives here. Training does
not: `fmarl.engine` plays whole slots inside a worker and sends one message per slot.

Messages are a length and raw bytes: a kind, then numbers in an order that both sides know from the
world's spec. Nothing is pickled. The child ends when its parent closes the connection or dies.
"""

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float32

from fmarl.errors import BadInput
from fmarl.worlds.world import Observation, Step, World, WorldSpec

_SIZE = struct.Struct("<I")
_SEED = struct.Struct("<q")


class RemoteWorld:
    """The world that a word names, in a child process."""

    def __init__(self, word: str, **options: Any) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "fmarl.worlds.remote", str(theirs.fileno())]
        # Its own session: Ctrl-C in a terminal is for the parent, which then closes the connection.
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], start_new_session=True
        )
        theirs.close()
        self._connection: socket.socket | None = ours
        try:
            made = self._ask(b"M", json.dumps([word, options]).encode())
        except BaseException:
            self.close()
            raise
        self._spec = WorldSpec(**json.loads(made))

    @property
    def spec(self) -> WorldSpec:
        """Shapes and limits."""
        return self._spec

    def reset(self, seed: int) -> Observation:
        """Begin an epoch."""
        rows = self._ask(b"R", _SEED.pack(seed))
        return np.frombuffer(rows, np.float32).reshape(self._spec.num_agents, -1).copy()

    def step(self, action: np.ndarray) -> Step:
        """Let every agent act once."""
        shape = (self._spec.num_agents, self._spec.action_size)
        if action.shape != shape:
            raise BadInput(f"actions of shape {action.shape} are not allowed: {shape}. Change it.")
        return _unpacked(self._ask(b"S", action.astype(np.float32).tobytes()), self._spec)

    def frame(self) -> Float32[np.ndarray, "thing 3"] | None:
        """What to draw now."""
        rows = self._ask(b"F", b"")
        return np.frombuffer(rows, np.float32).reshape(-1, 3).copy() if rows else None

    def close(self) -> None:
        """End the child."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._process.wait()

    def __enter__(self) -> "RemoteWorld":
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _ask(self, kind: bytes, content: bytes) -> bytes:
        if self._connection is None:
            raise BadInput("a closed world is not allowed: make a new one.")
        try:
            _send(self._connection, kind + content)
            answer = _receive(self._connection)
        except OSError:
            answer = None
        if answer is None:
            raise RuntimeError(f"the world's process ended with code {self._process.wait()}")
        if answer[:1] == b"B":
            raise BadInput(answer[1:].decode())
        return answer[1:]


def serve(connection: socket.socket) -> None:
    """The child's side: make the world that is asked for first, then do as asked."""
    requests = _requests(connection)
    try:
        word, options = json.loads(next(requests)[1:])
        from fmarl.worlds.named import make_world

        world = make_world(word, **options)
    except BadInput as error:
        _send(connection, b"B" + str(error).encode())
        return
    with world:
        _send(connection, b"M" + json.dumps(asdict(world.spec)).encode())
        for request in requests:
            try:
                _send(connection, b"A" + _answer(world, request[:1], request[1:]))
            except BadInput as error:
                _send(connection, b"B" + str(error).encode())


def _answer(world: World, kind: bytes, content: bytes) -> bytes:
    if kind == b"R":
        return world.reset(_SEED.unpack(content)[0]).tobytes()
    if kind == b"S":
        shape = (world.spec.num_agents, world.spec.action_size)
        return _packed(world.step(np.frombuffer(content, np.float32).reshape(shape)))
    frame = world.frame()
    return b"" if frame is None else frame.tobytes()


def _packed(step: Step) -> bytes:
    return b"".join(np.asarray(part).tobytes() for part in step)


def _unpacked(content: bytes, spec: WorldSpec) -> Step:
    agents, table = spec.num_agents, 4 * spec.num_agents * spec.observation_size
    cuts = np.cumsum([0, table, table, 4 * agents, agents, agents, agents]).tolist()
    parts = [
        bytearray(content[start:end]) for start, end in pairwise(cuts)
    ]  # arrays one may change
    return Step(
        observation=np.frombuffer(parts[0], np.float32).reshape(agents, -1),
        successor=np.frombuffer(parts[1], np.float32).reshape(agents, -1),
        reward=np.frombuffer(parts[2], np.float32),
        present=np.frombuffer(parts[3], bool),
        terminated=np.frombuffer(parts[4], bool),
        truncated=np.frombuffer(parts[5], bool),
        over=content[cuts[-1]] != 0,
    )


def _requests(connection: socket.socket) -> Iterator[bytes]:
    while (message := _receive(connection)) is not None:
        yield message


def _send(connection: socket.socket, message: bytes) -> None:
    connection.sendall(_SIZE.pack(len(message)) + message)


def _receive(connection: socket.socket) -> bytes | None:
    """The next message, or None when the other side is gone."""
    head = _exactly(connection, _SIZE.size)
    return None if head is None else _exactly(connection, _SIZE.unpack(head)[0])


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    content = bytearray()
    while len(content) < size:
        part = connection.recv(size - len(content))
        if not part:
            return None
        content += part
    return bytes(content)


if __name__ == "__main__":
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    with socket.socket(fileno=descriptor) as parent:
        serve(parent)
