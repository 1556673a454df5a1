import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from fmarl.cluster.inbox import digest_of

NUMBERS = np.arange(6, dtype=np.float32)


def test_the_digest_does_not_depend_on_the_order_of_the_arrays():
    one, two = NUMBERS, NUMBERS + 1
    assert digest_of({"one": one, "two": two}) == digest_of({"two": two, "one": one})


def test_the_digest_is_of_the_numbers_and_not_of_how_they_lie_in_memory():
    square = NUMBERS.reshape(2, 3)
    assert digest_of({"a": square}) == digest_of({"a": np.asfortranarray(square)})


@pytest.mark.parametrize(
    "other",
    [
        {"b": NUMBERS},
        {"a": NUMBERS.reshape(2, 3)},
        {"a": NUMBERS.astype(np.float64)},
        {"a": NUMBERS.view(np.int32)},
        {"a": NUMBERS.byteswap().view(">f4")},
        {"a": NUMBERS, "b": np.zeros(0, np.float32)},
        {"a": NUMBERS[:3], "b": NUMBERS[3:]},
        {},
    ],
    ids=["name", "shape", "dtype", "kind", "byte order", "an empty one more", "split", "nothing"],
)
def test_the_digest_tells_arrays_apart_by(other):
    assert digest_of(other) != digest_of({"a": NUMBERS})


@given(
    arrays_of.arrays(np.float32, st.integers(1, 8)),
    st.integers(0, 8 * 4 * 8 - 1),
)
def test_one_flipped_bit_changes_the_digest(array, bit):
    content = bytearray(array.tobytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    flipped = np.frombuffer(bytes(content), np.float32)

    assert digest_of({"a": array}) != digest_of({"a": flipped})
