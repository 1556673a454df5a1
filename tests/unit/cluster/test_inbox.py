from collections.abc import Callable

import numpy as np
import pytest

from fmarl.cluster.inbox import (
    ACCEPTED,
    PARAMETERS,
    Inbox,
    Upload,
)
from fmarl.records.events import EventCode
from unit.cluster.uploads import AGENTS, expected, start_of, upload, with_arrays

HUGE = pytest.param(10**5000, id="more digits than Python writes out")


@pytest.fixture
def inbox() -> Inbox:
    inbox = Inbox()
    inbox.expect(expected())
    return inbox


def test_whoever_sends_what_is_awaited_is_taken_in_the_order_of_the_agents(inbox):
    for agent in (2, 0, 3):
        assert inbox.receive(upload(agent)).code == ACCEPTED

    assert list(inbox.accepted) == [0, 2, 3]
    assert inbox.missing == [1] and inbox.refused == {}
    np.testing.assert_array_equal(inbox.accepted[2][PARAMETERS], upload(2).arrays[PARAMETERS])


def test_before_anything_is_expected_everything_is_stale():
    inbox = Inbox()
    assert inbox.receive(upload()).code == EventCode.STALE
    assert inbox.missing == [] and inbox.accepted == {}


def test_the_next_attempt_begins_with_nothing(inbox):
    inbox.receive(upload(0))
    inbox.receive(upload(1)._replace(local_updates=0))
    inbox.expect(expected(attempt=1))

    assert inbox.accepted == {} and inbox.refused == {}
    assert inbox.missing == list(range(AGENTS))
    assert inbox.receive(upload(0)).code == EventCode.STALE
    assert inbox.receive(upload(0, attempt=1)).code == ACCEPTED


STALE_CHANGES = [
    {"run_id": "another run"},
    {"run_id": ""},
    {"period": 4},
    {"period": 6},
    {"period": -1},
    {"period": 10**5000},
    {"attempt": 1},
    {"attempt": -1},
    {"base": "0" * 64},
    {"base": ""},
]


@pytest.mark.parametrize("change", STALE_CHANGES, ids=lambda change: f"{next(iter(change))}")
def test_an_upload_for_elsewhere_is_stale_and_does_not_stand_in_the_way(inbox, change):
    assert inbox.receive(upload()._replace(**change)).code == EventCode.STALE
    assert inbox.receive(upload()).code == ACCEPTED


@pytest.mark.parametrize("agent", [1, AGENTS, -1, HUGE])
def test_an_agent_that_is_away_or_unknown_is_not_expected(inbox, agent):
    inbox.expect(expected(present=frozenset({0, 2, 3})))
    assert inbox.receive(upload()._replace(agent=agent)).code == EventCode.NOT_EXPECTED
    assert inbox.accepted == {}


def test_an_idle_agent_that_is_present_is_awaited(inbox):
    assert 2 in inbox.missing  # its τ_i is 0
    assert inbox.receive(upload(2)).code == ACCEPTED


def test_the_first_of_two_uploads_counts_whatever_the_second_holds(inbox):
    first = upload()
    second = with_arrays(first, **{PARAMETERS: np.zeros(5, np.float32)})
    inbox.receive(first)

    again = inbox.receive(first)
    other = inbox.receive(second._replace(sequence=first.sequence + 1))

    assert again.code == other.code == EventCode.DUPLICATE
    assert "the same upload again" in again.detail and "another upload" in other.detail
    assert inbox.accepted[0] is first.arrays


def test_a_refused_agent_can_not_make_up_for_it_in_the_same_attempt(inbox):
    inbox.receive(upload(1)._replace(local_updates=7))

    assert inbox.receive(upload(1)).code == EventCode.DUPLICATE
    assert 1 in inbox.missing and inbox.refused[1].code == EventCode.BAD_CLAIM


@pytest.mark.parametrize(
    "claim", [3, 1, 0, -2, HUGE, 2.0, 1e300, float("nan"), float("inf"), True, "2", None]
)
def test_a_claim_that_is_not_the_schedules_is_refused(inbox, claim):
    receipt = inbox.receive(upload()._replace(local_updates=claim))
    assert receipt.code == EventCode.BAD_CLAIM and "where 2 were due" in receipt.detail
    assert inbox.refused == {0: receipt}


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.zeros(shape, dtype)


BAD_ARRAYS = {
    "one too many": numbers(6),
    "one too few": numbers(4),
    "empty": numbers(0),
    "one that broadcasts": numbers(1),
    "no axis, which broadcasts": numbers(),
    "an axis more, which broadcasts": numbers(1, 5),
    "a column, which broadcasts": numbers(5, 1),
    "float64": numbers(5, dtype="float64"),
    "float16": numbers(5, dtype="float16"),
    "whole numbers": numbers(5, dtype="int32"),
    "complex": numbers(5, dtype="complex64"),
    "truth values": numbers(5, dtype="bool"),
    "the other byte order": numbers(5, dtype=">f4"),
    "times": numbers(5, dtype="m8[s]"),
    "structured": numbers(5, dtype="f4,f4"),
    "nothing in each place": numbers(5, dtype="V0"),
    "masked": np.ma.masked_array(numbers(5), mask=[True] * 5),
    "a matrix": numbers(5, 1).view(np.matrix),
}


@pytest.mark.parametrize("array", BAD_ARRAYS.values(), ids=list(BAD_ARRAYS))
def test_an_array_of_another_kind_is_refused_though_its_digest_is_right(inbox, array):
    receipt = inbox.receive(with_arrays(upload(), **{PARAMETERS: array}))
    assert receipt.code == EventCode.BAD_PAYLOAD and receipt.detail.startswith(PARAMETERS)


@pytest.mark.parametrize(
    "array", [np.array([object()] * 5), [0.0] * 5, b"\0" * 20, None, np.float32(0), memoryview]
)
def test_what_is_no_array_of_numbers_is_refused(inbox, array):
    sent = upload()
    receipt = inbox.receive(sent._replace(arrays={**sent.arrays, PARAMETERS: array}))
    assert receipt.code == EventCode.BAD_PAYLOAD and receipt.detail.startswith(PARAMETERS)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {PARAMETERS: numbers(5)},
        {PARAMETERS: numbers(5), "Shared": numbers(2, 3)},
        {PARAMETERS: numbers(5), "shared": numbers(2, 3), "more": numbers(1)},
        {PARAMETERS: numbers(5), "shared": numbers(2, 3), 7: numbers(1)},
        [numbers(5), numbers(2, 3)],
        None,
    ],
)
def test_other_names_than_those_awaited_are_refused(inbox, arrays):
    assert inbox.receive(upload()._replace(arrays=arrays)).code == EventCode.BAD_PAYLOAD


def test_arrays_that_are_not_those_of_the_digest_are_refused(inbox):
    sent = upload()
    changed = {**sent.arrays, PARAMETERS: -sent.arrays[PARAMETERS]}
    receipt = inbox.receive(sent._replace(arrays=changed))
    assert receipt.code == EventCode.BAD_PAYLOAD and "digest" in receipt.detail


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_has_all_refused_and_is_named(inbox, number):
    shared = numbers(2, 3)
    shared[1, 1] = shared[1, 2] = number
    receipt = inbox.receive(with_arrays(upload(3), shared=shared))

    assert receipt == (EventCode.NONFINITE, f"shared[1, 1] is {number}")
    assert inbox.accepted == {} and inbox.refused == {3: receipt}


def test_the_largest_and_smallest_numbers_are_taken(inbox):
    limits = np.finfo(np.float32)
    row = np.array([limits.max, limits.min, limits.smallest_subnormal, -0.0, 0], np.float32)
    assert inbox.receive(with_arrays(upload(), **{PARAMETERS: row})).code == ACCEPTED


@pytest.mark.parametrize("name", ["run_id", "period", "attempt", "agent", "base", "digest"])
@pytest.mark.parametrize("value", [None, 5.0, np.int64(5), b"a run", [], True])
def test_a_head_of_other_types_is_refused_with_the_name_of_the_field(inbox, name, value):
    receipt = inbox.receive(upload()._replace(**{name: value}))
    assert receipt.code == EventCode.BAD_PAYLOAD and receipt.detail.startswith(name)


class Pretender(Upload):
    """Not an upload, whatever it inherits."""


class Trap:
    """Raises wherever it is touched."""

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)

    __eq__ = __repr__ = __len__ = __iter__ = __bool__ = __hash__ = None  # type: ignore[assignment]


class NamelessKind(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError


class Nameless(metaclass=NamelessKind):
    pass


# Made in the test: pytest looks at what it is given, and some of these do not bear it.
THINGS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "a dictionary": dict,
    "a tuple of the same": lambda: tuple(upload()),
    "a subclass": lambda: Pretender(*upload()),
    "an upload without fields": lambda: tuple.__new__(Upload, ()),
    "an upload with one more": lambda: tuple.__new__(Upload, (*upload(), 1)),
    "the class itself": lambda: Upload,
    "what raises at every touch": Trap,
    "what has no name": Nameless,
    "more digits than Python writes out": lambda: 10**5000,
    "a long text": lambda: "x" * 100_000,
    "half a character": lambda: "\ud800",
}


@pytest.mark.parametrize("make", THINGS.values(), ids=list(THINGS))
def test_what_is_not_an_upload_is_refused_in_few_words(inbox, make):
    receipt = inbox.receive(make())
    assert receipt.code == EventCode.BAD_PAYLOAD
    assert len(receipt.detail) < 100


def test_an_agent_that_went_far_more_than_the_others_is_an_outlier(inbox):
    for agent, way in enumerate((1.0, 1.5, 0.0, 7.0)):  # the median of those that moved is 1.5
        row = start_of(agent) + np.float32(way)
        inbox.receive(with_arrays(upload(agent), **{PARAMETERS: row}))
    starts = {agent: start_of(agent) for agent in range(AGENTS)}

    assert inbox.outliers(starts) == []
    assert inbox.outliers(starts, factor=4.0) == [3]


def test_without_starts_the_length_of_the_row_is_what_stands_out(inbox):
    for agent, size in enumerate((1.0, -1.0, 1.0, 1e38)):
        row = np.full(5, size, np.float32)
        inbox.receive(with_arrays(upload(agent), **{PARAMETERS: row}))
    assert inbox.outliers() == [3]


def test_where_nobody_moved_or_nobody_came_nobody_stands_out(inbox):
    assert inbox.outliers() == []
    inbox.receive(with_arrays(upload(), **{PARAMETERS: start_of(0)}))
    assert inbox.outliers({0: start_of(0)}) == []
