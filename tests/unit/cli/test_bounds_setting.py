import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmarl import settings_io
from fmarl.cli.bounds_setting import Setting, read_settings
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
        ({"consensus_step": -1.0}, "consensus_step = -1.0 is not used"),
        ({"weights": "nonsense"}, "weights = nonsense is not used"),
        ({"consensus_rounds": 2}, "consensus_rounds = 2 is not used"),
        ({"seed": 3}, "seed = 3 is not used"),
        (
            {"graph": "ring", "weights": "fdla", "consensus_step": 0.3},
            "consensus_step = 0.3 is not",
        ),
        ({"step_seconds": "1,1,1,1,1,1,2", "local_updates": "1-15"}, "local_updates = 1-15 is not"),
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


def test_a_json_file_lists_settings_on_top_of_shared_values(tmp_path: Path):
    file = tmp_path / "sweep.json"
    file.write_text(
        json.dumps({"smoothness": 50, "settings": [{"name": "a"}, {"sync_period": 10}]})
    )
    first, second = read_settings(file, Setting(num_agents=4))
    assert (first.name, first.smoothness, first.num_agents, first.sync_period) == ("a", 50, 4, 15)
    assert (second.smoothness, second.sync_period) == (50, 10)


def test_a_toml_file_says_the_same(tmp_path: Path):
    file = tmp_path / "sweep.toml"
    file.write_text(
        'smoothness = 50\n[[settings]]\nlocal_updates = [15, 3]\n[[settings]]\nname = "b"\n'
    )
    first, second = read_settings(file, Setting())
    assert (first.local_updates, second.name, second.smoothness) == ("15,3", "b", 50)


def test_a_table_without_a_list_is_one_setting(tmp_path: Path):
    file = tmp_path / "one.json"
    file.write_text('{"sync_period": 3}')
    assert [setting.sync_period for setting in read_settings(file, Setting())] == [3]


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("a.json", b"{", "not valid JSON"),
        ("a.toml", b"= 3", "not valid TOML"),
        ("a.toml", b"sync_period = 0x" + b"f" * 5000, "not valid TOML: Exceeds the limit"),
        ("a.json", b"\xff\xfe\x00", "UTF-8"),
        ("a.json", b"3", "a.json: 3 is not a table"),
        ("a.json", b"[3]", "setting 1"),
        ("a.json", b"[]", "0 settings"),
        ("a.json", b'{"settings": 3}', "settings = 3"),
        ("a.json", b'{"sync_period": NaN}', "not valid JSON: NaN"),
        ("a.json", b'{"seed": 1, "seed": 2}', "not valid JSON: a name stands twice"),
        (
            "a.json",
            b'{"settings": [{}, {"seed": "x"}]}',
            "setting 2: seed = 'x' is not a whole number",
        ),
        ("a.json", b'{"sync_perod": 3}', "Did you mean sync_period?"),
        ("a.json", b'{"sync_period": "x"}', "sync_period = 'x'"),
        ("a.json", b'{"sync_period": 3.5}', "sync_period = 3.5"),
        ("a.json", b'{"sync_period": true}', "sync_period = True"),
        ("a.json", b'{"learning_rate": null}', "learning_rate = None"),
        ("a.json", b"[" * 100_000, "not valid JSON"),
        ("a.json", b'{"smoothness": 1' + b"0" * 400 + b"}", "smoothness = 1000"),
        ("a.yaml", b"a: 1", "a.yaml"),
    ],
)
def test_a_malformed_file_gets_one_line(tmp_path: Path, name, content, named):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(BadInput) as error:
        read_settings(file, Setting())
    assert named in str(error.value)


def test_a_missing_file_a_folder_and_a_huge_file_get_one_line(tmp_path: Path, monkeypatch):
    (tmp_path / "folder.json").mkdir()
    for path in (tmp_path / "none.json", tmp_path / "folder.json"):
        with pytest.raises(BadInput, match="can not be read"):
            read_settings(path, Setting())
    monkeypatch.setattr(settings_io, "LARGEST_FILE", 3)
    (tmp_path / "big.json").write_text("[{}, {}]")
    with pytest.raises(BadInput, match="more than 3 bytes"):
        read_settings(tmp_path / "big.json", Setting())
