"""Training on one simulator and testing on the other."""

import pytest

from fmarl.algorithms.agent_config import AgentConfig
from fmarl.engine.experiment import Experiment, describe_experiment
from fmarl.engine.run import train
from fmarl.errors import BadInput
from fmarl.records.jsonl import read_lines


def test_tests_have_their_own_simulator_and_the_other_options_of_the_run():
    experiment = Experiment(set=("simulator=exact", "num_vehicles=6"), test_on="sumo")
    assert experiment.maker.options == {"simulator": "exact", "num_vehicles": 6}
    assert experiment.test_maker.options == {"simulator": "sumo", "num_vehicles": 6}
    assert Experiment().test_maker == Experiment().maker


def test_a_run_that_does_not_use_it_is_written_down_as_before():
    assert "test_on" not in describe_experiment(Experiment())
    assert describe_experiment(Experiment(test_on="sumo"))["test_on"] == "sumo"


@pytest.mark.parametrize(
    ("world", "word"), [("merge", "sumo"), ("figure-eight", "moon"), ("toy-bumpy", "exact")]
)
def test_it_is_refused_where_there_is_nothing_to_choose(world, word):
    with pytest.raises(BadInput, match="test_on"):
        Experiment(world=world, test_on=word)


def test_what_is_learned_on_the_exact_road_scores_the_same_on_sumo(tmp_path):
    pytest.importorskip("numba")
    scores = {}
    for test_on in ("sumo", "exact"):
        experiment = Experiment(
            set=("simulator=exact", "epoch_steps=200"),
            test_on=test_on,
            agent=AgentConfig(hidden=(8, 8)),
            num_epochs=1,
            steps_per_update=100,
            test_every=1,
            test_repetitions=1,
            baseline=False,
        )
        result = train(experiment, tmp_path / test_on)
        records = read_lines(result.folder / "metrics.jsonl").records
        scores[test_on] = [record["mean"] for record in records if record["kind"] == "test"]
    assert len(scores["sumo"]) == 2
    assert scores["sumo"] == pytest.approx(scores["exact"], rel=1e-3)
