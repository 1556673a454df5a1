import pytest

from fmarl.__main__ import run
from fmarl.cli import COMMANDS, main, parse
from fmarl.cli.bounds import Bounds
from fmarl.errors import BadInput


def test_flags_reach_the_setting():
    command = parse(["bounds", "--sync-period", "10", "--graph", "ring", "--strict"])
    assert isinstance(command, Bounds)
    assert (command.setting.sync_period, command.setting.graph, command.strict) == (
        10,
        "ring",
        True,
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "demo"),
        (["bond"], "bond"),
        (["bounds", "--sync-perod", "3"], "--sync-perod"),
        (["bounds", "--sync-period", "x"], "--sync-period"),
        (["bounds", "--sync-period"], "--sync-period"),
        (["bounds", "--against", "moon"], "moon"),
        (["topology", "ring", "path"], "path"),
    ],
)
def test_words_that_can_not_be_parsed_become_one_line(words, named):
    with pytest.raises(BadInput) as error:
        parse(words)
    assert named in str(error.value)
    assert "--help" in str(error.value)
    assert "\n" not in str(error.value)
    assert not set("│╭╰─") & set(str(error.value))


def test_help_lists_every_command_and_exits_with_zero(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert not stop.value.code
    help_text = capsys.readouterr().out
    assert all(name in help_text for name in COMMANDS)


def test_the_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("fmarl 0.")


def test_an_interrupt_ends_with_code_130_and_one_line(monkeypatch, capsys):
    def interrupted(self: Bounds) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Bounds, "run", interrupted)
    monkeypatch.setattr("sys.argv", ["fmarl", "bounds"])
    assert run() == 130
    assert capsys.readouterr().err == "fmarl: stopped\n"
