"""The virtual agent by itself: whatever is sent twice, late or spoilt, it averages once or not."""

import numpy as np
import pytest

from fmarl.cluster.inbox import (
    ACCEPTED,
    PARAMETERS,
    AttemptId,
    ExpectedUploads,
    Upload,
    digest_of,
    make_upload,
)
from fmarl.cluster.run_context import RunContext, own_code
from fmarl.cluster.virtual_agent import VirtualAgent
from fmarl.engine.engine import NOBODY
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.federation.recipes import MethodConfig
from fmarl.records.events import EventCode
from fmarl.worlds.world import WorldSpec

SPEC = WorldSpec(name="x", num_agents=3, observation_size=3, num_actions=1, epoch_steps=40)
SIZE = 5
START = np.full(SIZE, 2.0, np.float32)


@pytest.fixture(scope="module")
def virtual() -> VirtualAgent:
    together = MethodConfig(method="periodic", sync_period=4)
    experiment = Experiment(steps_per_update=20, num_epochs=4, together=together)
    return VirtualAgent(RunContext("a run", describe_experiment(experiment), SPEC, own_code()))


def _upload(agent: int, row: np.ndarray, attempt: int = 0) -> Upload:
    return make_upload(
        run_id="a run",
        period=0,
        attempt=attempt,
        agent=agent,
        base=digest_of({PARAMETERS: START}),
        local_updates=4,
        sequence=1,
        arrays={PARAMETERS: row},
    )


def _expected(present: set[int]) -> ExpectedUploads:
    return ExpectedUploads(
        run_id="a run",
        period=0,
        attempt=0,
        present=frozenset(present),
        bases=(digest_of({PARAMETERS: START}),) * 3,
        local_updates=tuple(4 if agent in present else 0 for agent in range(3)),
        shapes={PARAMETERS: (SIZE,)},
    )


def _collect(virtual, uploads, absent=NOBODY, starts=None):
    present = {0, 1, 2} - absent
    return virtual.collect(
        AttemptId(0, 0), _expected(present), absent, 4, starts or {}, None, *uploads
    )


ROWS = [np.full(SIZE, value, np.float32) for value in (1.0, 4.0, 7.0)]


def test_everybody_gets_the_mean_of_all(virtual):
    collected = _collect(virtual, [[_upload(agent, row)] for agent, row in enumerate(ROWS)])
    assert [receipt.code for _, receipt in collected.receipts] == [ACCEPTED] * 3
    assert all(np.array_equal(own[PARAMETERS], np.full(SIZE, 4.0)) for own in collected.averages)


def test_who_is_absent_counts_as_it_stood(virtual):
    uploads = [[_upload(0, ROWS[0])], [_upload(1, ROWS[1])]]
    absent = _collect(virtual, uploads, frozenset({2}), {2: {PARAMETERS: START}})
    np.testing.assert_allclose(absent.averages[2][PARAMETERS], (1 + 4 + 2) / 3, rtol=1e-6)


def test_asking_again_while_or_after_it_works_gives_the_same_once(virtual):
    """F12: a call that is made again is answered again, not added up."""
    uploads = [[_upload(agent, row)] for agent, row in enumerate(ROWS)]
    first, again = _collect(virtual, uploads), _collect(virtual, uploads)
    for one, other in zip(first.averages, again.averages, strict=True):
        assert np.array_equal(one[PARAMETERS], other[PARAMETERS])


def test_the_first_of_two_uploads_counts(virtual):
    uploads = [[_upload(agent, row)] for agent, row in enumerate(ROWS)]
    uploads[0].append(_upload(0, 9 * ROWS[0]))
    collected = _collect(virtual, uploads)
    assert [receipt.code for _, receipt in collected.receipts][:2] == [
        ACCEPTED,
        EventCode.DUPLICATE,
    ]
    assert np.array_equal(collected.averages[0][PARAMETERS], np.full(SIZE, 4.0))


def test_one_spoilt_upload_and_nothing_is_averaged(virtual):
    spoilt = ROWS[1].copy()
    spoilt[2] = np.nan
    collected = _collect(
        virtual, [[_upload(0, ROWS[0])], [_upload(1, spoilt)], [_upload(2, ROWS[2])]]
    )
    assert collected.averages is None
    assert collected.receipts[1][1].code == EventCode.NONFINITE


def test_what_comes_after_the_end_or_from_another_try_is_stale(virtual):
    _collect(virtual, [[_upload(agent, row)] for agent, row in enumerate(ROWS)])
    [receipt] = virtual.receive_late([_upload(2, ROWS[2], attempt=7)])
    assert receipt.code == EventCode.STALE
