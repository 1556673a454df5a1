"""One HTML page that needs nothing else: no script, no font, no request.

A page is built of blocks that know how to write themselves. All text is escaped on its way in,
pictures travel inside the page, and a link that leads nowhere is refused. Matplotlib is loaded
when there is a picture to draw.
"""

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, TypeVar

from fmarl.errors import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""What a browser may load for the page: nothing from anywhere."""

PIXELS_PER_INCH = 120
"""Browsers have 96; paper type of 8 points wants to be larger on a screen."""

T = TypeVar("T")

ALIGNMENTS = {"l": "left", "c": "centre", "r": "right"}

VerdictWord = Literal["supported", "not supported", "undecided"]
"""What can be said about a claim of the paper."""

VERDICT_SIGNS: dict[VerdictWord, str] = {"supported": "✓", "not supported": "✗", "undecided": "?"}


@dataclass(frozen=True)
class VerdictBadge:
    """A badge that says how a claim fared."""

    word: VerdictWord

    def html(self) -> str:
        """A sign for the eye, the word for everyone, and a class for the colour."""
        kind, sign = self.word.replace(" ", "-"), VERDICT_SIGNS[self.word]
        shown = f'<span aria-hidden="true">{sign}</span> {escape(self.word)}'
        return f'<span class="verdict {kind}">{shown}</span>'


@dataclass(frozen=True)
class Link:
    """A way to a section of the same page."""

    text: str
    anchor: str

    def html(self) -> str:
        return f'<a href="#{escape(self.anchor)}">{escape(self.text)}</a>'


Text = str | Sequence[str | VerdictBadge | Link]
"""A line: plain, or in pieces."""


@dataclass(frozen=True)
class Paragraph:
    """Prose."""

    text: Text

    def html(self, level: int) -> str:
        return f"<p>{_line(self.text)}</p>"


@dataclass(frozen=True)
class Code:
    """What a machine reads or writes, line by line."""

    text: str

    def html(self, level: int) -> str:
        return f"<pre><code>{escape(self.text)}</code></pre>"


@dataclass(frozen=True)
class Table:
    """Rows under a header; the first cell of a row is its name."""

    header: Sequence[str]
    rows: Sequence[Sequence[Text]]
    caption: Text
    align: str = ""
    """A letter per column, as in LaTeX: l, c or r. Columns without one are l."""

    def html(self, level: int) -> str:
        letters = self.align.ljust(len(self.header), "l")
        head = _row(self.header, letters, ["col"] * len(self.header))
        scopes = ["row", *[""] * (len(self.header) - 1)]
        body = "\n".join(_row(row, letters, scopes) for row in self.rows)
        table = f"<table>\n<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
        return (
            f"<figure>\n<figcaption>{_line(self.caption)}</figcaption>\n"
            f'<div class="scroll">\n{table}\n</div>\n</figure>'
        )


def table_of(
    columns: Mapping[str, Callable[[T], Text]], things: Iterable[T], caption: Text, align: str = ""
) -> Table:
    """A row for each thing; a column is its head and what it says of a thing."""
    rows = [[cell(one) for cell in columns.values()] for one in things]
    return Table(list(columns), rows, caption, align)


@dataclass(frozen=True)
class Picture:
    """A figure with its caption, and words for who can not see it."""

    figure: "Figure"
    caption: Text
    alternative_text: str

    def __post_init__(self) -> None:
        require(
            bool(self.alternative_text.strip()),
            "a picture without alternative text",
            "words that say what it shows",
            "Describe it for a reader who can not see it.",
        )

    def html(self, level: int) -> str:
        from fmarl.report.mpl_style import ONE_COLUMN, figure_bytes

        width, height = self.figure.get_size_inches() * PIXELS_PER_INCH
        kind = "wide" if self.figure.get_figwidth() > ONE_COLUMN else "narrow"
        data = b64encode(figure_bytes(self.figure, "svg")).decode()
        return (
            f'<figure class="{kind}">\n<div class="card">'
            f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(self.alternative_text)}" '
            f'width="{width:.0f}" height="{height:.0f}"></div>\n'
            f"<figcaption>{_line(self.caption)}</figcaption>\n</figure>"
        )


@dataclass(frozen=True)
class Details:
    """What only some readers want: folded until asked for."""

    summary: Text
    blocks: Sequence["Block"]

    def html(self, level: int) -> str:
        summary = f"<summary>{_line(self.summary)}</summary>"
        return f"<details>\n{summary}\n{_blocks(self.blocks, level)}\n</details>"


@dataclass(frozen=True)
class Section:
    """A heading and what is under it; sections may hold sections."""

    title: str
    anchor: str
    """Its name in links: small letters, digits and hyphens."""
    blocks: Sequence["Block"]

    def __post_init__(self) -> None:
        require(
            re.fullmatch(r"[a-z][a-z0-9-]*", self.anchor) is not None,
            f"anchor {self.anchor!r}",
            "small letters, digits and hyphens, a letter first",
            "Rename it.",
        )

    def html(self, level: int) -> str:
        heading = f"<h{level}>{escape(self.title)}</h{level}>"
        inside = _blocks(self.blocks, level + 1)
        return f'<section id="{self.anchor}">\n{heading}\n{inside}\n</section>'


Block = Paragraph | Code | Table | Picture | Details | Section
"""A piece of a page: its `html` is escaped, and has its own headings from a level on."""


def page(title: str, lead: Text, sections: Sequence[Section], footer: Text) -> str:
    """A whole page: the same parts give the same text.

    >>> "<h1>a &lt; b</h1>" in page("a < b", "Why.", [], "Made by hand.")
    True
    """
    entries = "\n".join(f"<li>{Link(part.title, part.anchor).html()}</li>" for part in sections)
    text = f"""<!doctype html>
<html lang="en">
{_head(title)}
<body>
<header>
<h1>{escape(title)}</h1>
<p class="lead">{_line(lead)}</p>
</header>
<nav aria-label="Contents">
<ol>
{entries}
</ol>
</nav>
<main>
{_blocks(sections, level=2)}
</main>
<footer>
<p>{_line(footer)}</p>
</footer>
</body>
</html>
"""
    _require_working_links(text)
    return text


def _head(title: str) -> str:
    """What comes before the page; the empty icon keeps a browser from asking a server for one."""
    styles = (files("fmarl.report") / name for name in ("tokens.css", "page.css"))
    css = "\n".join(style.read_text(encoding="utf-8") for style in styles)
    return f"""<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>
{css}</style>
</head>"""


def _require_working_links(text: str) -> None:
    """Quotation marks are escaped in all that a caller wrote, so only real attributes match."""
    anchors = Counter(re.findall(r' id="([^"]*)"', text))
    twice = [anchor for anchor, count in anchors.items() if count > 1]
    require(not twice, f"anchor {twice} of two sections", "one section each", "Rename one.")
    dead = sorted(set(re.findall(r' href="#([^"]*)"', text)) - set(anchors))
    require(not dead, f"link to {dead}", f"one of {sorted(anchors)}", "Add the section.")


def _line(text: Text) -> str:
    pieces = [text] if isinstance(text, str) else text
    return "".join(escape(piece) if isinstance(piece, str) else piece.html() for piece in pieces)


def _row(cells: Sequence[Text], letters: str, scopes: Sequence[str]) -> str:
    """One row; a cell with a scope is the name of its column or row."""
    written = [
        f'<th scope="{scope}" class="{ALIGNMENTS[letter]}">{_line(cell)}</th>'
        if scope
        else f'<td class="{ALIGNMENTS[letter]}">{_line(cell)}</td>'
        for cell, letter, scope in zip(cells, letters, scopes, strict=True)
    ]
    return f"<tr>{''.join(written)}</tr>"


def _blocks(blocks: Sequence[Block], level: int) -> str:
    return "\n".join(block.html(level) for block in blocks)
