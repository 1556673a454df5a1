"""What is typed, or lies on the disk, has a limit that is looked at before anything is done."""

import os

import pytest

import fmarl
from fmarl.cli import main
from unit.report.small_runs import road, write_run


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("bounds --smoothness 1e308 --gradient-noise 1e308", "0 <= smoothness <= 1e+38. Use"),
        ("bounds --learning-rate -1", "learning_rate = -1 is not allowed: 0 < learning_rate"),
        ("bounds --learning-rate -1", "Use 1e-4, as the paper does."),
        ("bounds --sync-period 99999999", "1 <= sync_period <= 10000"),
        ("topology complete --num-agents 100000", "1 <= num_agents <= 1000"),
        ("topology 0-999999999", "1 <= num_agents <= 1000"),
        ("bounds --settings /dev/zero", "a name that ends in .json or .toml"),
        ("train toy-quadratic --steps-per-update 100 --sync-period 99999999", "<= 100000. Use 15"),
        ("train toy-quadratic --steps-per-update 100 --learning-rate 1e300", "learning_rate <= 1e"),
        ("train --num-epochs 0", "1 <= num_epochs <= 1000000000. Use 1."),
        ("evaluate nowhere --repetitions 99999999999", "1 to 10000. Use --repetitions 20."),
        ("world --epochs 99999999999", "1 <= epochs <= 10000. Use --epochs 5."),
        ("train gym:ALE/Pong-v5", "and write gym:ale_py:ALE/Pong-v5."),
        ("train gym:Taxi-v3", "Did you mean gym:Taxi-v4?"),
        ("train figure-eigth", "Did you mean figure-eight?"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_too_much_is_refused_in_one_line(words, line, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    said = capfd.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_the_largest_constants_that_are_allowed_can_be_computed(capsys):
    words = ["bounds", "--smoothness", "1e38", "--gradient-noise", "1e38"]
    assert main(words) == 0
    assert "at most" in capsys.readouterr().err


def test_settings_in_a_pipe_are_refused_at_once(tmp_path, capsys):
    os.mkfifo(tmp_path / "settings.toml")
    assert main(["bounds", "--settings", str(tmp_path / "settings.toml")]) == 2
    assert "not a regular file" in capsys.readouterr().err


def test_a_report_goes_where_nothing_else_lies(tmp_path, capsys):
    write_run(tmp_path / "run", road())
    full = tmp_path / "full"
    full.mkdir()
    (full / "thing").touch()
    words = ["report", str(tmp_path / "run"), "--quiet", "--out"]
    assert main([*words, str(full)]) == 2
    assert f"Use --out {full / 'report'}." in capsys.readouterr().err
    assert [path.name for path in full.iterdir()] == ["thing"]
    assert main([*words, str(full / "report")]) == 0
    assert main([*words, str(full / "report")]) == 0


def test_the_public_names_are_listed_and_there():
    assert set(fmarl.__all__) <= set(dir(fmarl))
    assert all(hasattr(fmarl, name) for name in fmarl.__all__)
