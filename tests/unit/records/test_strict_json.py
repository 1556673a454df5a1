import json
import math

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.records.strict_json import LARGEST_SEALED, Malformed, decode, encode_line, seal, unseal


def test_a_record_is_one_line_of_strict_json():
    line = encode_line(
        {
            "nas": np.float32(0.1),
            "loss": float("nan"),
            "norms": np.array([[1.5, np.inf]], np.float32),
            "counts": np.arange(2),
            "done": np.True_,
            "word": "line\nend é",
            "nested": {3: (None, -0.0)},
        }
    )
    assert line.endswith(b"\n") and line.count(b"\n") == 1 and line.isascii()
    found = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert found == {
        "nas": 0.1,
        "loss": None,
        "norms": [[1.5, None]],
        "counts": [0, 1],
        "done": True,
        "word": "line\nend é",
        "nested": {"3": [None, -0.0]},
    }
    assert math.copysign(1, found["nested"]["3"][1]) == -1


def test_a_float32_is_written_with_its_own_digits_and_keeps_its_bits():
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 5000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    text = encode_line({"x": values})
    assert np.array_equal(np.array(decode(text)["x"], np.float32), values)
    assert len(text) < 16 * len(values)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is not JSON"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'{"a": 1, "a": 2}', "a name stands twice"),
        (b'{"a": {"b": 1, "b": 1}}', "a name stands twice"),
        (b"[1]", "it is not a JSON object"),
        (b'{"a": 1} {"b": 2}', "it is not JSON"),
        (b'\xef\xbb\xbf{"a": 1}', "it is not JSON"),
        (b'{"a": "\xff"}', "it is not JSON"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "it is not JSON"),
    ],
)
def test_what_is_not_strict_json_is_malformed(content, reason):
    with pytest.raises(Malformed, match=reason) as refused:
        decode(content)
    assert "\n" not in str(refused.value)


FACTS = {"count": 3, "rate": 0.1, "words": ["a", "ü"], "none": None, "nested": {"x": [1, 2.0]}}


def test_sealed_facts_come_back():
    assert unseal(seal(FACTS)) == FACTS
    odd = {"pair": (1, 2), "by number": {10: "ten", 9: "nine"}}
    assert unseal(seal(odd)) == {"pair": [1, 2], "by number": {"10": "ten", "9": "nine"}}
    found = unseal(seal({"x": [math.nan, {"y": -math.inf}]}))
    assert math.isnan(found["x"][0]) and found["x"][1] == {"y": -math.inf}


def test_a_seal_breaks_with_any_change_of_content():
    content = seal(FACTS).decode()
    changed = [
        content.replace("0.1", "0.2"),
        content.replace('"count": 3', '"count": 3.0'),
        content.replace("null", "false"),
        content.replace('"ü"', '"u"').replace("\\u00fc", "u"),
        content.replace('"rate"', '"race"'),
        content.replace('"count": 3,', '"count": 3, "more": 1,'),
        json.dumps({name: part for name, part in json.loads(content).items() if name != "count"}),
        json.dumps({name: part for name, part in json.loads(content).items() if name != "sha256"}),
        content.replace("0.1", "1e999"),
    ]
    for text in changed:
        assert text != content
        with pytest.raises(Malformed, match="it was changed after it was written"):
            unseal(text.encode())


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"x": {1, 2}}, "facts that JSON can not hold"),
        ({"x": np.ones(2)}, "facts that JSON can not hold"),
        ({"x": {1: "a", "1": "b"}}, "a name stands twice"),
        ({"sha256": "x"}, "sha256 among the facts"),
        ({"x": "y" * LARGEST_SEALED}, "bytes of facts is not allowed"),
    ],
)
def test_facts_that_would_not_come_back_are_refused(facts, problem):
    with pytest.raises(BadInput, match=problem):
        seal(facts)


def test_a_record_that_json_can_not_hold_is_refused():
    with pytest.raises(BadInput, match="facts that JSON can not hold: Object of type set"):
        encode_line({"x": {1}})
