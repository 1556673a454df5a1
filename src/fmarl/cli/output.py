"""How commands speak: tables and facts on standard output, warnings on standard error."""

import json
import math
import re
import shutil
import sys
from collections.abc import Iterable, Sequence

import tyro
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fmarl.records.strict_json import plain

Flag = tyro.conf.FlagCreatePairsOff[bool]
"""A switch that is off unless named."""

PLAIN_WIDTH = 140
"""Columns when the output is a file or a pipe, which have no width of their own."""


def console() -> Console:
    """Standard output: as wide as the terminal, and never cut off where there is none."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table whose numbers are aligned to the right."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    cells = [[show(value) for value in row] for row in rows]
    for index, column in enumerate(columns):
        numeric = all(_is_number(row[index]) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(escape, row))
    console().print(table)


def print_lines(*lines: str) -> None:
    """Plain lines; long ones are left to the terminal to wrap."""
    for line in lines:
        console().print(line, soft_wrap=True, markup=False)


def print_json(value: object, *, indent: int | None = 2) -> None:
    """A value as strict JSON; without an indent on one line, for a stream of them."""
    sys.stdout.write(json.dumps(plain(value), indent=indent, ensure_ascii=False) + "\n")


def warn(message: str) -> None:
    """One line that does not stop the command."""
    sys.stderr.write(f"fmarl: warning: {message}\n")


def own_command() -> str:
    """How to call this program again: `fmarl`, or the path it was called by."""
    if shutil.which("fmarl"):
        return "fmarl"
    called_by = sys.argv[0]
    return f"{sys.executable} -m fmarl" if called_by.endswith("__main__.py") else called_by


def show(value: object) -> str:
    """A cell: four digits for numbers, and a word for what has no number.

    >>> show(0.123456), show(1487.9), show(float("-inf")), show(None)
    ('0.1235', '1487.9', 'infeasible', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int):
        return str(value)
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number) or math.isinf(number):
        return "infeasible" if number == -math.inf else "∞" if number == math.inf else "–"
    digits = ".1f" if 1000 <= abs(number) < 1e9 else ".4g"
    return format(number, digits).removesuffix(".0")


def _is_number(cell: str) -> bool:
    return cell in ("–", "∞", "infeasible") or bool(re.fullmatch(r"-?[\d.]+(e[-+]\d+)?", cell))
