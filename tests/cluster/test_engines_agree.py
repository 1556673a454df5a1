"""One engine interface, two engines: the same bits from both, whatever the method and algorithm."""

import pytest

from cluster.engines import absences, in_one_process, longer, on_ray, toy
from fmarl.cluster.faults.plan import Fault
from fmarl.cluster.ray_engine import RayEngine
from fmarl.cluster.settings import ClusterSettings
from fmarl.engine.train import Training

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]

METHODS = {
    "independent": {},
    "synchronous": {},
    "periodic": {},
    "variation-aware": {"local_updates": "1-4"},
    "decay": {"local_updates": "drawn:1-4", "decay_rate": 0.9},
    "consensus": {"graph": "path", "consensus_rounds": 2},
    "decay-consensus": {"graph": "ring", "participation": 0.7},
    "delayed": {"delay_slots": 2},
    "delayed-adoption": {"delay_slots": 2},
}
NOT_MEASURED = {"mean_step_norm", "step_spread"}
"""Numbers for which all gradients would have to meet in one place."""


def _assert_same(tmp_path, experiment):
    alone = in_one_process(tmp_path / "alone", experiment)
    together = on_ray(tmp_path / "together", experiment)
    assert together.digest == alone.digest
    assert together.codes == []
    for found, wanted in zip(together.metrics, alone.metrics, strict=True):
        assert found == {name: value for name, value in wanted.items() if name not in NOT_MEASURED}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_ends_with_the_bits_of_one_process(tmp_path, method):
    _assert_same(tmp_path, toy(method=method, **METHODS[method]))


@pytest.mark.parametrize("algorithm", ["trpo", "tac"])
@pytest.mark.parametrize("method", ["decay", "consensus"])
def test_every_algorithm_ends_with_the_bits_of_one_process(tmp_path, algorithm, method):
    _assert_same(tmp_path, toy(algorithm=algorithm, method=method, **METHODS[method]))


@pytest.mark.parametrize(
    "together", [{}, {"hierarchy": 2}, {"aggregate": "median", "attack": "sign-flip:1:10"}], ids=str
)
def test_several_worlds_end_with_the_bits_of_one_process(tmp_path, together):
    _assert_same(tmp_path, toy(agents=2, worlds=2, **together))


def test_agents_that_share_a_process_end_with_the_same_bits(tmp_path):
    experiment = toy(agents=4, method="consensus", graph="ring")
    shared = on_ray(tmp_path / "shared", experiment, agents_per_actor=3)
    assert shared.digest == in_one_process(tmp_path / "alone", experiment).digest


def test_an_absence_in_a_plan_is_the_same_on_both_engines(tmp_path):
    experiment = toy(method="consensus", graph="ring")
    struck = on_ray(tmp_path / "ray", experiment, Fault("away", period=1, agent=2))
    assert absences(struck.events) == {1: {2}}
    oracle = in_one_process(tmp_path / "alone", experiment, {1: {2}})
    assert struck.digest == oracle.digest != in_one_process(tmp_path / "all", experiment).digest


@pytest.mark.parametrize("algorithm", ["ppo", "tac"])
def test_what_agents_send_is_what_the_ledger_counts(tmp_path, algorithm):
    """Bytes of the arrays as they leave an agent, against the meter's count times its sizes."""
    experiment = longer(
        toy(algorithm=algorithm, method="consensus", graph="path", consensus_rounds=2), periods=3
    )
    engines = []

    def make_engine(given, run_id):
        engines.append(RayEngine(given, "a run", ClusterSettings()))
        return engines[0]

    with Training(experiment, make_engine) as training:
        while not training.finished:
            list(training.advance())
        sizes, counted = training.program.sizes, training.ledger().totals()
    sent = engines[0].sent
    assert (sent.uploads, sent.exchanges) == (counted["uploads"], counted["exchanges"])
    assert sent.upload_bytes == counted["uploads"] * sizes.upload
    assert sent.exchange_bytes == counted["exchanges"] * sizes.exchange
    assert sent.exchanges == 3 * 4 * 2 * 4  # periods, slots, rounds, ends of the path's two links
