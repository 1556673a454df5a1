import socket
import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmarl import wire
from fmarl.rollout.batch import SlotRequest, batch_of, batch_reply, empty_batch, epoch_start
from fmarl.rollout.policy import Policy
from fmarl.rollout.policy_check import random_parameters
from fmarl.wire import Garbled, Message, decode, encode
from unit.rollout.tiny_world import TinyWorld

SPEC = TinyWorld("tiny").spec
shapes = st.lists(st.integers(0, 4), max_size=4)


@given(st.dictionaries(st.text(max_size=5), shapes, max_size=4), st.integers(0, 99))
def test_a_message_arrives_as_it_was_sent(arrays, seed):
    rng = np.random.default_rng(seed)
    sent = {name: rng.standard_normal(shape, np.float32) for name, shape in arrays.items()}
    sent |= {name + " sign": array > 0 for name, array in sent.items()}

    message = decode(encode(Message("word", {"one": [1, None, "two"]}, sent)))

    assert message.kind == "word" and message.facts == {"one": [1, None, "two"]}
    assert list(message.arrays) == list(sent)
    for name, array in sent.items():
        np.testing.assert_array_equal(message.arrays[name], array, strict=True)


@given(st.binary(max_size=80))
def test_other_bytes_are_refused(content):
    with pytest.raises(Garbled):
        decode(content)


EXAMPLE = encode(Message("batch", {"epoch": 1}, {"a": np.ones((2, 3), np.float32)}))


@given(st.integers(0, len(EXAMPLE) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_refused_or_leaves_a_message(place, change):
    content = bytearray(EXAMPLE)
    content[place] ^= change
    with suppress(Garbled):
        assert isinstance(decode(content), Message)


HEADS = [
    b"[]",
    b"{",
    b"\xff",
    b'{"kind": "x", "facts": {}, "arrays": [["a", "object", [1]]]}',
    b'{"kind": "x", "facts": {}, "arrays": [["a", "float32", [-1]]]}',
    b'{"kind": "x", "facts": {}, "arrays": [["a", "float32", [99]]]}',
    b'{"kind": "x", "facts": {}, "arrays": [["a", "float32", [0, 4611686018427387904, 8, 8]]]}',
    b'{"kind": "x", "facts": {}, "arrays": [["a", "float32", "1"]]}',
    b'{"kind": "x", "facts": {}, "arrays": [["a", "float32", [true]]]}',
    b'{"kind": "x", "facts": 3, "arrays": []}',
    b'{"kind": "x", "facts": {}, "arrays": [["a", "bool", [8]]]}',
    b'{"kind": "x", "facts": {}, "arrays": []}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("head", HEADS, ids=range(len(HEADS)))
def test_a_malicious_head_is_refused(head):
    body = b"\x02" * 8
    with pytest.raises(Garbled):
        decode(wire.PREFIX.pack(wire.MAGIC, len(head), len(body)) + head + body)


@pytest.mark.parametrize("sizes", [(wire.MAX_HEAD + 1, 0), (8, wire.MAX_BODY + 1)])
def test_a_length_out_of_bounds_is_refused_before_anything_is_read(sizes):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(wire.PREFIX.pack(wire.MAGIC, *sizes))
        with pytest.raises(Garbled):
            wire.receive(ours, time.monotonic() + 5)


def test_a_message_in_drops_is_read_whole_and_half_a_message_is_none():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(EXAMPLE)
        theirs.sendall(EXAMPLE[:-1])
        theirs.close()
        message = wire.receive(ours)
        assert message is not None and message.facts == {"epoch": 1}
        assert wire.receive(ours) is None


def test_waiting_ends_at_the_deadline_even_when_bytes_keep_dripping():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(EXAMPLE[:-8])
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            wire.receive(ours, begun + 0.05)
        assert time.monotonic() - begun < 10


@pytest.mark.parametrize(
    "policy", [Policy("random"), Policy("greedy", random_parameters(SPEC, (8, 5)), "relu")]
)
def test_a_policy_survives_the_wire(policy):
    received = SlotRequest.of(decode(encode(SlotRequest(policy, 3, 9).message()))).policy
    assert received.kind == policy.kind and received.activation == policy.activation
    if policy.parameters is not None:
        assert received.parameters is not None
        for sent, got in zip(policy.parameters[:2], received.parameters[:2], strict=True):
            for one, other in zip(sent, got, strict=True):
                np.testing.assert_array_equal(one, other, strict=True)


def test_a_batch_that_was_not_asked_for_is_refused():
    snapshot, asked = epoch_start(SPEC, 2), SlotRequest(Policy("random"), 0, 5)
    batch = empty_batch(SPEC, 5, epoch=2)
    reply = batch_reply(batch)
    assert batch_of(reply, SPEC, asked, snapshot).digest() == batch.digest()
    for wrong in (
        batch_reply(empty_batch(SPEC, 4, epoch=2)),
        batch_reply(empty_batch(SPEC, 5, epoch=1)),
        reply._replace(arrays={"observation": batch.observation}),
    ):
        with pytest.raises(Garbled):
            batch_of(wrong, SPEC, asked, snapshot)
