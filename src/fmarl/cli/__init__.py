"""The command `fmarl`: this file only finds the subcommand, and reports bad input."""

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import tyro

from fmarl import __version__
from fmarl.errors import BAD_INPUT, BadInput


@runtime_checkable
class Command(Protocol):
    """A subcommand: a record of its options that can be run, which gives the exit code."""

    def run(self) -> int: ...


COMMANDS: dict[str, str] = {
    "demo": "fmarl.cli.demo:Demo",
    "train": "fmarl.cli.train:Train",
    "resume": "fmarl.cli.train:Resume",
    "evaluate": "fmarl.cli.evaluate:Evaluate",
    "runs": "fmarl.cli.runs:Runs",
    "watch": "fmarl.cli.watch:Watch",
    "reproduce": "fmarl.cli.reproduce:Reproduce",
    "report": "fmarl.cli.report:Report",
    "bounds": "fmarl.cli.bounds:Bounds",
    "topology": "fmarl.cli.topology:Topology",
    "world": "fmarl.cli.world:WorldCommand",
    "doctor": "fmarl.cli.doctor:Doctor",
}
"""Where each command is; only the one that is called is loaded, for some of them load JAX."""

ABOUT = "Train independent agents together, and count every byte they exchange."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        sys.stdout.write(f"fmarl {__version__}\n")
        return 0
    try:
        return parse(words).run()
    except BadInput as error:
        sys.stderr.write(f"fmarl: {' '.join(str(error).split())}\n")
        return BAD_INPUT
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parse(words: Sequence[str]) -> Command:
    """The command that the words ask for; what is wrong with them comes as one line."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return _parse(words)
    except SystemExit as stop:
        if stop.code in (None, 0):
            raise
        raise BadInput(_error_line(said.getvalue(), words)) from None


def _parse(words: Sequence[str]) -> Command:
    if not words or words[0] not in COMMANDS:  # help on all commands, or a word that is none
        commands = {word: _load(word) for word in COMMANDS}
        return tyro.extras.subcommand_cli_from_dict(
            commands, prog="fmarl", description=ABOUT, args=list(words)
        )
    word, *options = words
    command = _load(word)
    # A command may say what its options are before any are given.
    defaults = getattr(command, "defaults", lambda options: None)(options)
    return tyro.cli(command, prog=f"fmarl {word}", args=options, default=defaults)


def _load(word: str) -> Any:
    module, _, name = COMMANDS[word].partition(":")
    return getattr(importlib.import_module(module), name)


def _error_line(panel: str, words: Sequence[str]) -> str:
    """The first section of tyro's error panel, without its frame, and where to look for help."""
    lines = [line.strip("│╭╮╰╯ ") for line in panel.splitlines()[1:-1]]
    first = " ".join(lines[: next((i for i, line in enumerate(lines) if line[:3] == "───"), None)])
    if words and words[0] in COMMANDS:
        return f"{first.rstrip('.')}. See fmarl {words[0]} --help."
    return f"{first.rstrip('.')}. Commands: {', '.join(COMMANDS)}. See fmarl --help."
