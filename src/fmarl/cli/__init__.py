"""The command `fmarl`: one file per subcommand; this one only finds it and reports bad input."""

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import tyro

from fmarl import __version__
from fmarl.cli.bounds import Bounds
from fmarl.cli.demo import Demo
from fmarl.cli.doctor import Doctor
from fmarl.cli.topology import Topology
from fmarl.cli.world import WorldCommand
from fmarl.errors import BadInput


@runtime_checkable
class Command(Protocol):
    """A subcommand: a record of its options that can be run."""

    def run(self) -> int:
        """Do it, and return the exit code."""
        ...


COMMANDS: dict[str, type[Command]] = {
    "demo": Demo,
    "bounds": Bounds,
    "topology": Topology,
    "world": WorldCommand,
    "doctor": Doctor,
}

ABOUT = "Train independent agents together, and count every byte they exchange."

BAD_INPUT = 2
"""Exit code for input that can not be used; nothing has been changed by then."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        sys.stdout.write(f"fmarl {__version__}\n")
        return 0
    try:
        return parse(words).run()
    except BadInput as error:
        sys.stderr.write(f"fmarl: {_one_line(str(error))}\n")
        return BAD_INPUT
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parse(words: Sequence[str]) -> Command:
    """The command that the words ask for; what is wrong with them comes as one line."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return tyro.extras.subcommand_cli_from_dict(
                COMMANDS,
                prog="fmarl",
                description=ABOUT,
                args=list(words),
            )
    except SystemExit as stop:
        if stop.code in (None, 0):
            raise
        raise BadInput(_complaint(said.getvalue(), words)) from None


def _complaint(panel: str, words: Sequence[str]) -> str:
    """The first section of tyro's error panel, without its frame, and where to look for help."""
    lines = [line.strip("│╭╮╰╯ ") for line in panel.splitlines()[1:-1]]
    first = " ".join(lines[: next((i for i, line in enumerate(lines) if line[:3] == "───"), None)])
    if words and words[0] in COMMANDS:
        return f"{first.rstrip('.')}. See fmarl {words[0]} --help."
    return f"{first.rstrip('.')}. Commands: {', '.join(COMMANDS)}. See fmarl --help."


def _one_line(text: str) -> str:
    return " ".join(text.split())
