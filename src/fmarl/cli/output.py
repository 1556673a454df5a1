"""How commands speak: tables and facts on standard output, warnings on standard error."""

import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import tyro
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fmarl.records.strict_json import plain

Flag = tyro.conf.FlagCreatePairsOff[bool]
"""A switch that is off unless named."""

COLUMN_GAP = 3
"""Columns of the terminal between two of a table."""
EDGES = 2
PLAIN_WIDTH = 140
"""Columns when the output is a file or a pipe, which have no width of their own."""


def console() -> Console:
    """Standard output: as wide as the terminal, and never cut off where there is none."""
    return Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    least: Sequence[str] = (),
) -> None:
    """A table whose numbers are aligned to the right, and are whole at any width.

    Where it does not fit, words wrap; then the columns that matter least are left out, the first
    of `least` first, which is said (`low and high` go together); and if that is not enough, each
    row becomes a block of lines.
    """
    cells = [[show(value) for value in row] for row in rows]
    screen = console()
    for number in range(len(least) + 1):
        out = [name for entry in least[:number] for name in entry.split(" and ")]
        kept = [index for index, column in enumerate(columns) if column not in out]
        table = [[row[index] for index in kept] for row in ([*columns], *cells)]
        if (widths := _widths(table, screen.width)) is not None:
            caption = f"left out, for want of room: {', '.join(out)}" if out else None
            screen.print(_table(title, table, widths, caption))
            return
    longest = max(map(cell_len, columns))
    print_text(title)
    for row in cells:
        named = zip(columns, row, strict=True)
        print_text(
            "", *(f"{name}{' ' * (longest - cell_len(name))}  {cell}" for name, cell in named)
        )


def _table(
    title: str, cells: Sequence[Sequence[str]], widths: Sequence[int], caption: str | None
) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.caption, table.caption_justify = caption, "left"
    head, *rows = cells
    for index, (column, width) in enumerate(zip(head, widths, strict=True)):
        numeric = all(_is_number(row[index]) for row in rows)
        justify = "right" if numeric else "left"
        table.add_column(column, justify=justify, overflow="fold", width=width)
    for row in rows:
        table.add_row(*map(escape, row))
    return table


def _widths(cells: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Widths of columns that fit, the widest wrapped first and never within a word; None if none.

    >>> _widths([["run", "what it says"], ["a", "some words of it"]], 17)
    [3, 9]
    """
    columns = list(zip(*cells, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    words = [max(map(cell_len, " ".join(column).split()), default=0) for column in columns]
    room -= COLUMN_GAP * (len(columns) - 1) + EDGES
    while sum(widths) > room:
        spare = [width - word for width, word in zip(widths, words, strict=True)]
        if not any(spare):
            return None
        widths[spare.index(max(spare))] -= 1
    return widths


def print_text(*paragraphs: str) -> None:
    """Text, wrapped between words where it is wider than the terminal."""
    for paragraph in paragraphs:
        console().print(paragraph, markup=False)


def paragraphs(text: str) -> list[str]:
    r"""A text as paragraphs, each in one line; lines that are indented, or empty, stay as they are.

    >>> paragraphs("One\nand two.\n\n    | a |\n    | b |")
    ['One and two.', '', '    | a |', '    | b |']
    """
    found: list[str] = []
    for line in text.splitlines():
        goes_on = bool(found and found[-1] and line) and line[0] != " " != found[-1][0]
        found[-1:] = [f"{found[-1]} {line}"] if goes_on else [*found[-1:], line]
    return found


def print_lines(*lines: str) -> None:
    """Lines with paths and commands, to be copied whole: the terminal wraps them, not we."""
    for line in lines:
        console().print(line, soft_wrap=True, markup=False)


@contextmanager
def progress_line(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Say how far a command is, in a line of the terminal that vanishes when it is done.

    It is on standard error, so that results can go elsewhere; where that is no terminal, nothing.
    """
    screen = Console(stderr=True, highlight=False)
    if quiet or not screen.is_terminal:
        yield lambda words: None
        return
    with screen.status("starting") as status:
        yield lambda words: status.update(escape(words))


def print_json(value: object, *, indent: int | None = 2) -> None:
    """A value as strict JSON; without an indent on one line, for a stream of them."""
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(json.dumps(plain(value), indent=indent, ensure_ascii=not is_unicode) + "\n")


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
