"""The command `fmarl`: this file only finds the subcommand, and reports bad input.

It answers before anything large is loaded: help on all commands and a mistyped one need this file.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from fmarl import __version__
from fmarl.errors import BAD_INPUT, BadInput, did_you_mean
from fmarl.user_code import USER_CODE_FAILED, UserCodeFailed


@runtime_checkable
class Command(Protocol):
    """A subcommand: a record of its options that can be run, which gives the exit code."""

    def run(self) -> int: ...


class CommandEntry(NamedTuple):
    """A command as the help on all of them has it."""

    home: str
    """Where it is; only the one that is called is loaded, for some of them load JAX."""
    summary: str
    """The first line of its own help, which a test compares."""


COMMANDS: dict[str, CommandEntry] = {
    "demo": CommandEntry(
        "fmarl.cli.demo:Demo",
        "See agents learn: four methods on the Figure Eight road, and a page to watch them on.",
    ),
    "train": CommandEntry(
        "fmarl.cli.train:Train",
        "Train agents together in a world. Stop it with Ctrl-C, go on with `fmarl resume`.",
    ),
    "resume": CommandEntry(
        "fmarl.cli.train:Resume",
        "Go on with runs where their last checkpoints stand; they end as if never interrupted.",
    ),
    "evaluate": CommandEntry(
        "fmarl.cli.evaluate:Evaluate",
        "Test what runs have learned: average parameters, no chance in actions, epochs of its own.",
    ),
    "runs": CommandEntry(
        "fmarl.cli.runs:Runs",
        "List runs: what they train, how far they are, and what their last test found.",
    ),
    "watch": CommandEntry(
        "fmarl.cli.watch:Watch",
        "Serve a page on which runs are seen: roads, curves, messages and bytes. Ctrl-C ends it.",
    ),
    "reproduce": CommandEntry(
        "fmarl.cli.reproduce:Reproduce",
        "Make the paper's figures and tables again on real SUMO, with a verdict on every claim.",
    ),
    "report": CommandEntry(
        "fmarl.cli.report:Report",
        "Write one page with every figure and table of runs that are there.",
    ),
    "bounds": CommandEntry(
        "fmarl.cli.bounds:Bounds",
        "Convergence bounds, cost and utility: the paper's printed forms beside corrected ones.",
    ),
    "topology": CommandEntry(
        "fmarl.cli.topology:Topology",
        "Spectrum, contraction, admissible step and cost per slot of a communication graph.",
    ),
    "world": CommandEntry(
        "fmarl.cli.world:WorldCommand",
        "Show a world, play some epochs of it, and print the mean reward with its interval.",
    ),
    "doctor": CommandEntry(
        "fmarl.cli.doctor:Doctor",
        "Versions, cores, memory, disk, SUMO and extras, and how to get what is missing.",
    ),
}

ABOUT = "Train independent agents together, and count every byte they exchange."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] in (["-h"], ["--help"], ["help"]):
        sys.stdout.write(help_on_all())
        return 0
    if words == ["--version"]:
        sys.stdout.write(f"fmarl {__version__}\n")
        return 0
    try:
        return parse(words).run()
    except BadInput as error:
        sys.stderr.write(f"fmarl: {' '.join(str(error).split())}\n")
        return BAD_INPUT
    except UserCodeFailed as failed:
        sys.stderr.write(f"fmarl: {failed.report}\n")
        return USER_CODE_FAILED


def parse(words: Sequence[str]) -> Command:
    """The command that the words ask for; what is wrong with them comes as one line."""
    if not words or words[0] not in COMMANDS:
        what = f"command {words[0]!r:.60}" if words else "no command"
        hint = did_you_mean(words[0], COMMANDS, "Try fmarl demo.") if words else "Try fmarl demo."
        known = f"commands: {', '.join(COMMANDS)}"
        raise BadInput(f"{what} is not allowed: {known}. {hint} See fmarl --help.")
    from fmarl.cli.options import parse_options  # with tyro

    word, *options = words
    return parse_options(word, COMMANDS[word].home, options)


def help_on_all() -> str:
    """Every command with its summary, as wide as the terminal."""
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size().columns, 100)
    indent = max(map(len, COMMANDS)) + 4
    lines = [
        textwrap.fill(
            f"  {word:<{indent - 2}}{entry.summary}", width, subsequent_indent=" " * indent
        )
        for word, entry in COMMANDS.items()
    ]
    head = f"usage: fmarl COMMAND [OPTIONS]\n\n{textwrap.fill(ABOUT, width)}\n\ncommands:\n"
    foot = "\n\nfmarl COMMAND --help lists its options; fmarl --version prints the version.\n"
    return head + "\n".join(lines) + foot
