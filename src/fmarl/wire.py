"""Messages between processes of a run: a word, some facts in JSON, some arrays.

    magic 4 bytes | length of head, 4 bytes | length of body, 8 bytes | head | body

The head is JSON: {"kind", "facts", "arrays": [[name, dtype, shape], …]}; the body is the arrays'
bytes, each padded to 8. Whole numbers are little-endian. Nothing is ever unpickled, lengths are
bounded before anything is read, and whatever does not fit is `Garbled`.
"""

import json
import math
import socket
import struct
import time
from typing import Any, NamedTuple

import numpy as np

MAGIC = b"FMW1"
PREFIX = struct.Struct("<4sIQ")
MAX_HEAD = 1 << 20
MAX_BODY = 1 << 28
DTYPES = {"float32": np.dtype("<f4"), "bool": np.dtype("?")}


class Message(NamedTuple):
    """A word, facts that JSON can hold, and arrays of float32 or bool."""

    kind: str
    facts: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Garbled(Exception):  # noqa: N818 — it reads as what happened
    """Bytes that are not a message."""


def send(connection: socket.socket, message: Message) -> None:
    """Write a message; the connection's own time-out applies to all of it."""
    connection.sendall(encode(message))


def receive(connection: socket.socket, deadline: float | None = None) -> Message | None:
    """Read a message, or None if the other side is gone; `TimeoutError` after the deadline."""
    prefix = _read(connection, PREFIX.size, deadline)
    if prefix is None:
        return None
    head_size, body_size = _sizes(prefix)
    content = _read(connection, head_size + body_size, deadline)
    if content is None:
        return None
    return _message(memoryview(content)[:head_size], memoryview(content)[head_size:])


def encode(message: Message) -> bytes:
    """Return a message as bytes."""
    arrays = {name: np.asarray(array, order="C") for name, array in message.arrays.items()}
    listed = [[name, array.dtype.name, array.shape] for name, array in arrays.items()]
    facts = {"kind": message.kind, "facts": message.facts, "arrays": listed}
    head = json.dumps(facts, allow_nan=False).encode()
    head += b" " * (-len(head) % 8)
    body = [part for array in arrays.values() for part in (array.data, bytes(-array.nbytes % 8))]
    body_size = sum(array.nbytes + -array.nbytes % 8 for array in arrays.values())
    return b"".join([PREFIX.pack(MAGIC, len(head), body_size), head, *body])


def decode(content: bytes | bytearray) -> Message:
    """Return the message that bytes hold, all of them; `Garbled` if they hold none."""
    head_size, body_size = _sizes(content[: PREFIX.size])
    if len(content) != PREFIX.size + head_size + body_size:
        raise Garbled(f"{len(content)} bytes where the prefix promises another length")
    view = memoryview(content)[PREFIX.size :]
    return _message(view[:head_size], view[head_size:])


def _sizes(prefix: bytes | bytearray) -> tuple[int, int]:
    if len(prefix) != PREFIX.size:
        raise Garbled(f"a prefix of {len(prefix)} bytes")
    magic, head_size, body_size = PREFIX.unpack(prefix)
    if magic != MAGIC or head_size > MAX_HEAD or body_size > MAX_BODY:
        raise Garbled(f"bytes that begin with {bytes(prefix)!r}")
    return head_size, body_size


def _message(head: memoryview, body: memoryview) -> Message:
    try:
        facts = json.loads(bytes(head))
        arrays, offset = {}, 0
        for name, dtype, shape in facts["arrays"]:
            arrays[name] = _array(body, offset, DTYPES[dtype], shape)
            offset += arrays[name].nbytes + -arrays[name].nbytes % 8
        if offset != len(body):
            raise Garbled(f"a body of {len(body)} bytes for arrays of {offset}")
        return Message(str(facts["kind"]), dict(facts["facts"]), arrays)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as problem:
        raise Garbled(f"a head that can not be read ({type(problem).__name__})") from None


def _array(body: memoryview, offset: int, dtype: np.dtype, shape: list[int]) -> np.ndarray:
    if any(type(size) is not int or size < 0 for size in shape) or len(shape) > 8:
        raise Garbled("an array of impossible shape")
    count = math.prod(shape)
    if offset + count * dtype.itemsize > len(body):
        raise Garbled("an array that is longer than its message")
    if count == 0:
        return np.zeros(shape, dtype)
    if dtype.kind == "b" and np.frombuffer(body, np.uint8, count, offset).max() > 1:
        raise Garbled("a truth value that is neither 0 nor 1")
    return np.frombuffer(body, dtype, count, offset).reshape(shape)


def _read(connection: socket.socket, size: int, deadline: float | None) -> bytearray | None:
    """Read exactly so many bytes; None if the other side closes first."""
    content = bytearray(size)
    view, have = memoryview(content), 0
    while have < size:
        if deadline is not None:
            connection.settimeout(max(deadline - time.monotonic(), 1e-3))
        got = connection.recv_into(view[have:])
        if got == 0:
            return None
        have += got
        if deadline is not None and time.monotonic() > deadline and have < size:
            raise TimeoutError
    return content
