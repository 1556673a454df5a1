"""Uploads that can not be used, on real Ray: refused, recorded, and the agent counts as absent."""

import pytest

from cluster.engines import absences, in_one_process, longer, on_ray, toy
from fmarl.cluster.faults.plan import Fault

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]

BAD_UPLOADS = {
    "nan": "NONFINITE",
    "infinity": "NONFINITE",
    "wrong-shape": "BAD_PAYLOAD",
    "broadcast-shape": "BAD_PAYLOAD",
    "float64": "BAD_PAYLOAD",
    "extra-key": "BAD_PAYLOAD",
    "missing-key": "BAD_PAYLOAD",
    "bad-digest": "BAD_PAYLOAD",
    "claim:99": "BAD_CLAIM",
    "claim:-1": "BAD_CLAIM",
    "claim:nan": "BAD_CLAIM",
    "claim:1e300": "BAD_CLAIM",
}


def test_what_can_not_be_used_equals_an_agent_that_is_absent(tmp_path):
    """F13, F15, F17: one bad upload in every period, by the agents in turn."""
    experiment = longer(toy(), periods=len(BAD_UPLOADS))
    faults = [Fault(do, period=at, agent=at % 3) for at, do in enumerate(BAD_UPLOADS)]
    struck = on_ray(tmp_path / "ray", experiment, *faults)
    assert struck.codes[::2] == list(BAD_UPLOADS.values())
    absent = {at: {at % 3} for at in range(len(BAD_UPLOADS))}
    assert absences(struck.events) == absent
    assert struck.digest == in_one_process(tmp_path / "alone", experiment, absent).digest


def test_what_comes_twice_or_from_elsewhere_changes_nothing(tmp_path):
    """F10, F11: the agent's own upload counts, once."""
    experiment = longer(toy(), periods=4)
    words = ("duplicate", "stale", "other-run")
    faults = [Fault(do, period=at, agent=at % 3) for at, do in enumerate(words, 1)]
    struck = on_ray(tmp_path / "ray", experiment, *faults)
    assert struck.codes == ["DUPLICATE", "STALE", "STALE"]
    assert struck.digest == in_one_process(tmp_path / "alone", experiment).digest


def test_who_sends_nonsense_three_times_in_a_row_is_out(tmp_path):
    """F13: and stays out, though it would send sound uploads again."""
    experiment = longer(toy(), periods=6)
    faults = [Fault("nan", period=period, agent=1) for period in (1, 2, 3)]
    struck = on_ray(tmp_path / "ray", experiment, *faults)
    assert struck.codes.count("AGENT_QUARANTINED") == 1
    absent = {period: {1} for period in (1, 2, 3, 4, 5)}
    assert absences(struck.events) == absent
    assert struck.digest == in_one_process(tmp_path / "alone", experiment, absent).digest


def test_a_strongly_byzantine_agent_is_recorded(tmp_path):
    """F18: with the mean there is no promise, but an event."""
    experiment = longer(toy(agents=5, attack="scale:1:100"), periods=2)
    struck = on_ray(tmp_path / "ray", experiment)
    outliers = [event for event in struck.events if event["code"] == "OUTLIER"]
    assert {event["agent"] for event in outliers} == {4}
    assert struck.digest == in_one_process(tmp_path / "alone", experiment).digest
