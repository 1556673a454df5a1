import importlib
import subprocess
import sys

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
    assert main(["--help"]) == 0
    help_text = capsys.readouterr().out
    assert all(name in help_text for name in COMMANDS)


@pytest.mark.parametrize("word", COMMANDS)
def test_the_summary_of_a_command_is_the_first_line_of_its_own_help(word):
    module, _, name = COMMANDS[word].home.partition(":")
    command = getattr(importlib.import_module(module), name)
    assert COMMANDS[word].summary == command.__doc__.splitlines()[0]


HEAVY = {"jax", "equinox", "optax", "libsumo", "matplotlib", "ray", "scipy", "gymnasium"}


@pytest.mark.parametrize(
    ("words", "code"), [("--help", 0), ("trian", 2), ("runs .", 0), ("doctor", 0)]
)
def test_quick_answers_load_nothing_that_is_slow(words, code, tmp_path):
    program = "import sys; from fmarl.__main__ import run; code = run();"
    program += f"sys.exit(', '.join({HEAVY} & {{*sys.modules}}) or code)"
    command = [sys.executable, "-c", program, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == code, done.stderr


def test_neither_help_nor_a_mistyped_command_loads_what_parses_options():
    program = "import sys; from fmarl.__main__ import run; run();"
    program += "sys.exit(bool({'tyro', 'rich', 'numpy'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", program, "trian"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("trian figure-eight", "Did you mean train?"),
        ("bounds --sync-perod 3", "--sync-perod is not an option. Did you mean --sync-period?"),
        ("bounds --sync-perod 3 --sead 1", " and --s"),
        ("bounds --num-epochs 1e3", "--num-epochs 1e3 is not allowed: a whole number. "
         "Write --num-epochs 1000."),
        ("bounds --num-epochs=1e3", "Write --num-epochs 1000."),
        ("bounds --num-epochs many", "Write --num-epochs 500."),
        ("bounds --decay-rate 0,9", "--decay-rate 0,9 is not allowed: a number. Write"),
        ("watch --port 80x", "--port 80x is not allowed: a whole number. Leave it out."),
        ("bounds --against sync_perod", "Did you mean sync_period?"),
        ("topology ring path", "path is not allowed: more words than it takes. Leave that out."),
    ],
)  # fmt: skip
def test_a_mistake_names_the_value_what_is_allowed_and_a_fix(words, line):
    with pytest.raises(BadInput) as error:
        parse(words.split())
    assert line in str(error.value)


def test_numbers_with_commas_are_written_as_they_should_be():
    with pytest.raises(
        BadInput, match=r"whole numbers, with blanks between\. Write --hidden 32 16"
    ):
        parse(["train", "--hidden", "32,16"])


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
