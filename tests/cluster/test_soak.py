"""The soak for a minute, and that it would tell; `make soak` goes on for a quarter of an hour."""

from itertools import pairwise

import pytest

from cluster.process_samples import Sample
from cluster.soak import SoakResult, problems, soak
from cluster.soak_faults import AGENTS, BAD_UPLOADS, KILLS, draw_faults
from fmarl.cluster.agent_status import default_quorum
from fmarl.cluster.faults.plan import Fault

PERIODS = 2000


def _held(period: int, mebibytes: float, files: int) -> Sample:
    return Sample("driver", 1, period, 200 + mebibytes, files)


CALM = SoakResult(
    faults=[],
    events=[],
    samples=[_held(period, 0.0, 30) for period in range(0, 500, 10)],
    is_finite=True,
    gradient_norm=1.0,
    digest="same",
    oracle="same",
    seconds=1.0,
)
TROUBLE = {
    "AGENT_LATE: 0 planned, 1 seen": {"events": [{"code": "AGENT_LATE"}]},
    "AGENT_LOST: 1 planned, 0 seen": {"faults": [(KILLS[0], [Fault("kill", 1, agent=0)])]},
    "grows by 20.0 MiB": {"samples": [_held(n, 0.02 * n, 30) for n in range(0, 500, 10)]},
    "files open": {"samples": [_held(n, 0.0, 30 + n // 50) for n in range(0, 500, 10)]},
    "not finite": {"is_finite": False},
    "nothing was learned": {"gradient_norm": 0.0},
    "the oracle with other": {"oracle": "other"},
}


@pytest.mark.cluster
@pytest.mark.usefixtures("cluster")
def test_a_run_in_which_much_goes_wrong_ends_with_the_bits_of_its_oracle(tmp_path):
    result = soak(tmp_path, periods=40, seed=0)
    assert len(result.faults) == 4
    assert problems(result) == []


def test_a_plan_has_every_sort_and_spares_every_other_period():
    faults = draw_faults(PERIODS, seed=1)
    assert {kind for kind, _ in faults} == {*KILLS, *BAD_UPLOADS}
    struck = [some[0].period for _, some in faults]
    assert all(later - earlier >= 2 for earlier, later in pairwise(struck))
    assert max(len(some) for _, some in faults) <= AGENTS - default_quorum(AGENTS)


def test_a_soak_in_which_all_went_well_has_no_problems():
    assert problems(CALM) == []


@pytest.mark.parametrize("words", TROUBLE)
def test_a_soak_tells_what_went_wrong(words):
    [problem] = problems(CALM._replace(**TROUBLE[words]))
    assert words in problem
