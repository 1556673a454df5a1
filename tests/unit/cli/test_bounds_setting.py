from dataclasses import replace

import numpy as np
import pytest

from fmarl.cli.bounds_setting import Setting
from fmarl.errors import BadInput
from fmarl.reproduce import paper


def test_the_defaults_are_the_papers_table_three():
    plan = Setting().plan()
    assert plan.total_updates == 3000
    assert plan.sync_period == paper.SYNC_PERIOD
    assert plan.num_agents == paper.NUM_AGENTS
    assert plan.learning_rate == paper.LEARNING_RATE
    assert Setting().consensus_step == paper.CONSENSUS_STEP
    assert Setting().initial_gradient_norm == paper.INITIAL_GRADIENT_NORM


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"local_updates": "all"}, [15] * 7),
        ({"local_updates": "1-15"}, [15, 13, 11, 9, 7, 5, 3]),
        ({"local_updates": "15,15,1", "num_agents": 3}, [15, 15, 1]),
        ({"step_seconds": "1,1.5,3", "num_agents": 3}, [15, 10, 5]),
    ],
)
def test_local_updates_are_read_from_words(words, expected):
    assert replace(Setting(), **words).plan().local_updates.tolist() == expected


def test_a_graph_brings_its_weights_and_rounds():
    plan = Setting(graph="ring", weights="metropolis", consensus_rounds=3).plan()
    assert plan.mixing.shape == (3, 7, 7)
    assert plan.mixing[0, 0, 1] == pytest.approx(1 / 3)


def test_zero_rounds_on_a_graph_is_plain_averaging():
    with_graph = Setting(graph="ring", consensus_rounds=0).plan()
    assert np.array_equal(with_graph.mixing, Setting().plan().mixing)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"num_agents": 0}, "num_agents = 0"),
        ({"num_agents": 10**6}, "num_agents = 1000000"),
        ({"sync_period": 0}, "sync_period = 0"),
        ({"epoch_steps": 1501}, "epoch_steps = 1501"),
        ({"steps_per_update": 0}, "steps_per_update = 0"),
        ({"decay_rate": 0.0}, "decay_rate = 0"),
        ({"decay_rate": float("nan")}, "decay_rate = nan"),
        ({"local_updates": "16-20"}, "local_updates = 20"),
        ({"local_updates": "1-"}, "''"),
        ({"local_updates": "0-15"}, "local updates 0-15"),
        ({"local_updates": "-3"}, "local_updates"),
        ({"local_updates": "15,x,3,3,3,3,3"}, "'x'"),
        ({"local_updates": "15,3"}, "local_updates for 2 agents"),
        ({"step_seconds": "1,0,1,1,1,1,1"}, "step time 0"),
        ({"step_seconds": "1,nan,1,1,1,1,1"}, "step time nan"),
        ({"graph": "paper-13", "num_agents": 5}, "num_agents = 5"),
        ({"graph": "blob"}, "blob"),
        ({"graph": "ring", "weights": "heavy"}, "heavy"),
        ({"graph": "ring", "consensus_step": 0.6}, "0.6"),
        ({"graph": "ring", "consensus_rounds": -1}, "consensus_rounds = -1"),
        ({"learning_rate": -1.0}, "learning_rate = -1"),
    ],
)
def test_a_bad_word_gets_one_line_that_names_it(words, named):
    with pytest.raises(BadInput) as error:
        replace(Setting(), **words).plan()
    assert named in str(error.value)
    assert "\n" not in str(error.value)


def test_a_step_outside_the_papers_range_that_still_contracts_only_warns():
    setting = Setting(graph="ring", consensus_step=0.4)
    setting.plan()
    assert "0.4" in (setting.warning() or "")
    assert Setting(graph="ring", consensus_step=0.1).warning() is None
