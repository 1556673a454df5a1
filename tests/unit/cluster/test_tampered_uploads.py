import pytest

from fmarl.cluster.faults.plan import UPLOAD, WORDS, Fault
from fmarl.cluster.faults.uploads import tampered
from fmarl.cluster.inbox import (
    ACCEPTED,
    Inbox,
    digest_of,
)
from fmarl.records.events import EventCode
from unit.cluster.uploads import expected, upload

RECEIPTS = {
    "nan": (EventCode.NONFINITE, "parameters[4]"),
    "infinity": (EventCode.NONFINITE, "parameters[4]"),
    "wrong-shape": (EventCode.BAD_PAYLOAD, "shape (6,)"),
    "broadcast-shape": (EventCode.BAD_PAYLOAD, "shape ()"),
    "float64": (EventCode.BAD_PAYLOAD, "no array of float32"),
    "extra-key": (EventCode.BAD_PAYLOAD, "more, parameters, shared where"),
    "missing-key": (EventCode.BAD_PAYLOAD, "it holds shared where"),
    "bad-digest": (EventCode.BAD_PAYLOAD, "not those of the digest"),
    "claim:7": (EventCode.BAD_CLAIM, "claims 7 updates"),
    "claim:-1": (EventCode.BAD_CLAIM, "claims -1 updates"),
    "claim:1e300": (EventCode.BAD_CLAIM, "claims 1e+300 updates"),
    "claim:nan": (EventCode.BAD_CLAIM, "claims nan updates"),
    "duplicate": (ACCEPTED, ""),
    "stale": (EventCode.STALE, "period 4"),
    "other-run": (EventCode.STALE, "run_id 'not a run'"),
    "kill-after-upload": (ACCEPTED, ""),
    "stop-before-upload": (ACCEPTED, ""),
}


def test_every_word_about_uploads_is_tried_here():
    about_uploads = {word for word, about in WORDS.items() if about == UPLOAD}
    assert {do.partition(":")[0] for do in RECEIPTS} == about_uploads


@pytest.mark.parametrize("do", RECEIPTS)
def test_what_is_sent_first_meets_the_check_that_the_word_is_meant_for(do):
    inbox = Inbox()
    inbox.expect(expected())
    sent = tampered(upload(), Fault(do, period=5, agent=0))

    code, detail = inbox.receive(sent[0])

    assert code == RECEIPTS[do][0] and RECEIPTS[do][1] in detail


@pytest.mark.parametrize(
    ("do", "codes"),
    [
        ("duplicate", [ACCEPTED, EventCode.DUPLICATE]),
        ("stale", [EventCode.STALE, ACCEPTED]),
        ("other-run", [EventCode.STALE, ACCEPTED]),
    ],
)
def test_words_that_send_twice_have_the_agents_own_upload_taken_once(do, codes):
    inbox = Inbox()
    inbox.expect(expected())
    sent = tampered(upload(), Fault(do, period=5, agent=0))

    assert [inbox.receive(each).code for each in sent] == codes
    assert digest_of(inbox.accepted[0]) == upload().digest


def test_stale_sends_what_was_sent_in_the_period_before():
    before = upload(period=4)
    sent = tampered(upload(), Fault("stale", period=5, agent=0), before)
    assert sent[0] is before and sent[1].period == 5


@pytest.mark.parametrize("do", [word for word, about in WORDS.items() if about != UPLOAD])
def test_other_words_leave_the_upload_as_it_is(do):
    own = upload()
    assert tampered(own, Fault(do, period=5, agent=0)) == [own]


def test_the_agents_own_arrays_are_not_touched():
    own = upload()
    for array in own.arrays.values():
        array.flags.writeable = False  # as those that come from Ray are
    for do in RECEIPTS:
        tampered(own, Fault(do, period=5, agent=0))
    assert own.digest == upload().digest
