import json
from pathlib import Path

import pytest

from fmarl.cli import settings_file
from fmarl.cli.bounds_setting import Setting
from fmarl.cli.settings_file import read_settings
from fmarl.errors import BadInput


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
        ("a.json", b"3", "holds a int"),
        ("a.json", b"[3]", "setting 1"),
        ("a.json", b"[]", "0 settings"),
        ("a.json", b'{"settings": 3}', "settings = 3"),
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
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(BadInput, match="can not be read"):
            read_settings(path, Setting())
    monkeypatch.setattr(settings_file, "LARGEST_FILE", 3)
    (tmp_path / "big.json").write_text("[{}, {}]")
    with pytest.raises(BadInput, match="8 bytes"):
        read_settings(tmp_path / "big.json", Setting())
