"""Whatever reaches the virtual agent, in whatever order: only what was awaited is taken, once."""

import string

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fmarl.cluster.faults.plan import UPLOAD, WORDS, Fault
from fmarl.cluster.faults.uploads import tampered
from fmarl.cluster.inbox import (
    ACCEPTED,
    Inbox,
    Receipt,
    Upload,
    digest_of,
)
from fmarl.records.events import EventCode
from unit.cluster.uploads import AGENTS, SHAPES, base_of, expected, upload

CODES = {
    ACCEPTED,
    EventCode.DUPLICATE,
    EventCode.STALE,
    EventCode.NOT_EXPECTED,
    EventCode.BAD_CLAIM,
    EventCode.BAD_PAYLOAD,
    EventCode.NONFINITE,
}
SPOILT = {"nan": EventCode.NONFINITE, "infinity": EventCode.NONFINITE}
SPOILT |= dict.fromkeys(["wrong-shape", "broadcast-shape", "float64"], EventCode.BAD_PAYLOAD)
SPOILT |= dict.fromkeys(["extra-key", "missing-key", "bad-digest"], EventCode.BAD_PAYLOAD)
SPOILT |= dict.fromkeys(["claim:7", "claim:-1", "claim:nan"], EventCode.BAD_CLAIM)
"""Deeds that spoil an upload, and what they are refused for."""
SOUND = ["", "duplicate", "stale", "other-run", "kill-after-upload", "stop-before-upload"]
"""Deeds after which the agent's own upload is among what is sent; the first is honesty."""
agents = st.integers(0, AGENTS - 1)
presences = st.frozensets(agents, max_size=2).map(frozenset(range(AGENTS)).difference)


class Collecting(RuleBasedStateMachine):
    """Agents, a network that loses, repeats and reorders, and an inbox; beside it, a model.

    Every message is kept with the deed that made it, so the model knows what must become of it
    without looking inside.
    """

    def __init__(self) -> None:
        super().__init__()
        self.inbox = Inbox()
        self.period, self.attempt = 0, 0
        self.present = frozenset(range(AGENTS))
        self.decided: dict[int, str] = {}
        self.on_the_way: list[tuple[str, Upload]] = []
        self.taken: set[tuple[int, int, int]] = set()

    @initialize(present=presences)
    def begin(self, present: frozenset[int]) -> None:
        self.open_attempt(present)

    @rule(agent=agents, do=st.sampled_from(SOUND))
    def send(self, agent: int, do: str) -> None:
        """An agent, away or not, sends what it should, and perhaps more."""
        fault = Fault(do, period=self.period, agent=agent)
        sent = tampered(self.honest(agent), fault) if do else [self.honest(agent)]
        self.on_the_way += [("", one) for one in sent]

    @rule(agent=agents, do=st.sampled_from(list(SPOILT)), arrives=st.booleans())
    def misbehave(self, agent: int, do: str, arrives: bool) -> None:
        """An agent sends what is no use; if it arrives at once, it is likely to be the first."""
        (spoilt,) = tampered(self.honest(agent), Fault(do, period=self.period, agent=agent))
        self.on_the_way.append((do, spoilt))
        if arrives:
            self.take(do, spoilt)

    @rule(agent=agents)
    def start_from_elsewhere(self, agent: int) -> None:
        """An agent missed the last average, and learned from what it had."""
        own = self.honest(agent)
        self.on_the_way.append(("", own._replace(base=base_of(agent, self.period - 1))))

    @precondition(lambda self: self.on_the_way)
    @rule(data=st.data(), stays=st.booleans())
    def deliver(self, data: st.DataObject, stays: bool) -> None:
        """Any message, so out of order; one that stays can come again, at any later time."""
        place = data.draw(st.integers(0, len(self.on_the_way) - 1))
        deed, sent = self.on_the_way[place]
        if not stays:
            del self.on_the_way[place]

        self.take(deed, sent)

    @rule(data=st.data())
    def deliver_all(self, data: st.DataObject) -> None:
        """Everybody sends, and the network brings all that is on the way, in any order."""
        self.on_the_way += [("", self.honest(agent)) for agent in range(AGENTS)]
        for place in data.draw(st.permutations(range(len(self.on_the_way)))):
            self.take(*self.on_the_way[place])
        self.on_the_way.clear()

    @precondition(lambda self: self.on_the_way)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        del self.on_the_way[data.draw(st.integers(0, len(self.on_the_way) - 1))]

    @rule(present=presences)
    def play_again(self, present: frozenset[int]) -> None:
        """Somebody was lost, or the quorum was: another attempt."""
        self.attempt += 1
        self.open_attempt(present)

    @precondition(lambda self: not self.inbox.missing)
    @rule(present=presences)
    def commit(self, present: frozenset[int]) -> None:
        assert self.inbox.accepted.keys() == self.present
        for agent, arrays in self.inbox.accepted.items():
            assert digest_of(arrays) == self.honest(agent).digest
        self.period, self.attempt = self.period + 1, 0
        self.open_attempt(present)

    @invariant()
    def what_is_taken_is_what_an_honest_agent_sent_in_this_attempt(self) -> None:
        for agent, arrays in self.inbox.accepted.items():
            assert agent in self.present
            assert digest_of(arrays) == self.honest(agent).digest

    @invariant()
    def what_is_taken_is_finite_float32_of_the_right_shape(self) -> None:
        for arrays in self.inbox.accepted.values():
            assert_sound(arrays)

    @invariant()
    def everybody_is_taken_refused_or_missing(self) -> None:
        taken = {agent for agent, code in self.decided.items() if code == ACCEPTED}
        assert list(self.inbox.accepted) == sorted(taken)
        assert self.inbox.missing == sorted(self.present - taken)
        assert self.inbox.refused.keys() == self.decided.keys() - taken

    def take(self, deed: str, sent: Upload) -> None:
        """Deliver a message; what is taken is from here and now, and was not taken before."""
        awaited = self.verdict_on(deed, sent)
        assert self.inbox.receive(sent).code == awaited
        if awaited == ACCEPTED:
            key = (sent.period, sent.attempt, sent.agent)
            assert key[:2] == (self.period, self.attempt) and key not in self.taken
            assert sent.base == base_of(sent.agent, self.period)
            self.taken.add(key)

    def honest(self, agent: int) -> Upload:
        return upload(agent, period=self.period, attempt=self.attempt)

    def open_attempt(self, present: frozenset[int]) -> None:
        self.present, self.decided = present, {}
        self.inbox.expect(expected(period=self.period, attempt=self.attempt, present=present))

    def verdict_on(self, deed: str, sent: Upload) -> str:
        """What the model says must become of a message."""
        here = ("a run", self.period, self.attempt)
        if (sent.run_id, sent.period, sent.attempt) != here:
            return EventCode.STALE
        if sent.agent not in self.present:
            return EventCode.NOT_EXPECTED
        if sent.agent in self.decided:
            return EventCode.DUPLICATE
        if sent.base != base_of(sent.agent, self.period):
            return EventCode.STALE
        self.decided[sent.agent] = SPOILT.get(deed, ACCEPTED)
        return self.decided[sent.agent]


def assert_sound(arrays: dict[str, np.ndarray]) -> None:
    """As awaited, in every respect."""
    assert arrays.keys() == SHAPES.keys()
    for name, array in arrays.items():
        assert type(array) is np.ndarray and array.dtype == np.float32
        assert array.shape == SHAPES[name] and bool(np.isfinite(array).all())


Collecting.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestCollecting = Collecting.TestCase


def test_every_word_about_uploads_takes_part():
    played = {deed.partition(":")[0] for deed in (*SPOILT, *SOUND) if deed}
    assert played == {word for word, about in WORDS.items() if about == UPLOAD}


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.sampled_from([object(), Upload, upload, 2**70, np.float32(1)]),
    arrays_of.arrays(
        arrays_of.scalar_dtypes() | arrays_of.array_dtypes(), arrays_of.array_shapes(min_dims=0)
    ),
)
things = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.sampled_from([*SHAPES, *string.ascii_lowercase, 1, None]), inner),
    ),
    max_leaves=6,
)


def judged(thing: object) -> tuple[Receipt, Inbox]:
    inbox = Inbox()
    inbox.expect(expected())
    return inbox.receive(thing), inbox


@given(things)
@settings(max_examples=200)
def test_anything_gets_a_verdict_and_nothing_is_taken(thing):
    receipt, inbox = judged(thing)
    assert receipt.code == EventCode.BAD_PAYLOAD and inbox.accepted == {}
    assert len(receipt.detail) < 200


@given(st.dictionaries(st.sampled_from(Upload._fields), things, min_size=1, max_size=3))
@settings(max_examples=200)
def test_an_upload_with_anything_in_its_fields_gets_a_verdict(changes):
    receipt, inbox = judged(upload()._replace(**changes))
    assert receipt.code in CODES
    for arrays in inbox.accepted.values():
        assert_sound(arrays)


@given(st.dictionaries(st.sampled_from([*SHAPES, "more"]), things, min_size=1))
@settings(max_examples=200)
def test_an_upload_with_anything_among_its_arrays_is_not_taken(changes):
    own = upload()
    receipt, _ = judged(own._replace(arrays={**own.arrays, **changes}))
    assert receipt.code == EventCode.BAD_PAYLOAD


@given(
    name=st.sampled_from(list(SHAPES)),
    kind=arrays_of.floating_dtypes() | arrays_of.integer_dtypes(),
    shape=arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6),
    data=st.data(),
)
@settings(max_examples=200)
def test_an_array_of_any_kind_with_its_digest_is_taken_if_and_only_if_it_is_sound(
    name, kind, shape, data
):
    shape = data.draw(st.sampled_from([shape, SHAPES[name]]))
    array = data.draw(arrays_of.arrays(data.draw(st.sampled_from([kind, np.float32])), shape))
    arrays = {**upload().arrays, name: array}

    receipt, _ = judged(upload()._replace(arrays=arrays, digest=digest_of(arrays)))

    fits = array.dtype == np.dtype(np.float32) and array.shape == SHAPES[name]
    is_sound = fits and bool(np.isfinite(array).all())
    assert receipt.code == (
        ACCEPTED if is_sound else EventCode.NONFINITE if fits else EventCode.BAD_PAYLOAD
    )
