"""The parts of README and docs that are written from code, tests and committed results.

python docs/generate.py writes them; with --check it writes nothing, and names what is stale. Tests
check each page by itself. The text around the parts is written by hand.
"""

import ast
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import fill

from fmarl.report.citations import EQUATIONS, Citation, collect_citations
from fmarl.report.format import counted, with_interval
from fmarl.report.mpl_style import Figure
from fmarl.report.page import Section, Table, Text, VerdictBadge
from fmarl.report.statistics import seed_interval
from fmarl.reproduce import paper
from fmarl.reproduce.bound_runs import bound_section
from fmarl.reproduce.claims import CLAIMS
from fmarl.reproduce.claims_section import effect_of, variants_section
from fmarl.reproduce.step_section import found, step_rows, step_section
from fmarl.reproduce.study_results import Evidence, read_evidence
from fmarl.reproduce.verdicts import Verdict, together, weakest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "paper"
OTHER_CHOICES = [
    RESULTS.with_name(f"short{end}")
    for end in ("", "-discount-0.99", "-equal-steps", "-even-updates", "-sgd")
]
"""Results with other choices, which the committed report shows beside those of the paper's."""
HEADLINE = (
    paper.IRL,
    paper.TAU_1,
    paper.TAU_15,
    paper.TAU_1_15,
    paper.DECAY_92,
    paper.CONSENSUS,
)

Writer = Callable[[str], str]
"""From a page as it is to the page as it should be."""


def main() -> None:
    """Write what is stale, or name it."""
    stale = [name for name in PAGES if is_stale(name)]
    if "--check" not in sys.argv[1:]:
        for name in stale:
            (ROOT / name).write_text(renewed(name))
    elif stale:
        sys.exit(f"stale: {', '.join(stale)}. Run python docs/generate.py")


def is_stale(name: str) -> bool:
    """Whether a page does not say what it would if it were written now."""
    return renewed(name) != (ROOT / name).read_text()


def renewed(name: str) -> str:
    """A page as it should be."""
    return PAGES[name]((ROOT / name).read_text())


def with_parts(**parts: Callable[[], str]) -> Writer:
    """A writer of pages of which only the parts between two marks of a name are generated."""

    def write(page: str) -> str:
        for name, part in parts.items():
            mark = f"<!-- {name}: written by python docs/generate.py -->\n"
            before, _, after = page.split(mark)
            page = mark.join([before, part(), after])
        return page

    return write


# docs/equations.md: from the docstrings, and the tests that name their functions.


def equations_page(_: str = "") -> str:
    """Which function executes which equation."""
    citations, used = collect_citations(), names_used_by_tests()
    rows = [row for number in EQUATIONS for row in _equation_rows(number, citations, used)]
    ours = [[f"`{c.name}`", _cell(c.paper), _tests(c, used)] for c in citations if not c.equations]
    differing = [[f"`{c.name}`", _cell(c.paper), _cell(c.differs)] for c in citations if c.differs]
    parts = [
        "# Equations\n",
        "Which function executes which equation of the paper, and the tests that name it.\n"
        "Generated from the `Paper:` lines of the docstrings by\n"
        "`python docs/generate.py`; a test fails when it is stale.\n",
        _left_table(["equation", "what it is", "function", "tests"], rows),
        "## From the paper's text and appendices, and ours\n",
        _left_table(["function", "source", "tests"], ours),
        "## Where we differ\n",
        _left_table(["function", "paper", "here"], differing),
    ]
    return "\n".join(parts)


def names_used_by_tests() -> dict[str, set[str]]:
    """For every name that occurs in a test's body: the tests it occurs in."""
    used: dict[str, set[str]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for name in _names(node):
                    used.setdefault(name, set()).add(f"{file.name}::{node.name}")
    return used


def _names(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node))
    plain = {part.id for part in parts if isinstance(part, ast.Name)}
    return plain | {part.attr for part in parts if isinstance(part, ast.Attribute)}


def covering(citation: Citation, used: Mapping[str, set[str]]) -> list[str]:
    """Tests that name the function; for a private one, tests of its module's public functions."""
    module, name = citation.name.rsplit(".", 1)
    if not name.startswith("_"):
        return sorted(used.get(name, ()))
    public = [other.name.rsplit(".", 1) for other in collect_citations()]
    siblings = [short for owner, short in public if owner == module and not short.startswith("_")]
    return sorted(set().union(*(used.get(short, set()) for short in siblings)))


def _equation_rows(
    number: int, citations: Sequence[Citation], used: Mapping[str, set[str]]
) -> list[list[str]]:
    start = [f"({number})", EQUATIONS[number]]
    executing = [c for c in citations if number in c.equations]
    return [[*start, f"`{c.name}`", _tests(c, used)] for c in executing]


def _tests(citation: Citation, used: Mapping[str, set[str]]) -> str:
    names = covering(citation, used)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"`{names[0]}`{more}" if names else "none"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _left_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (header, *rows)]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:], ""])


# docs/reproduction.md and README: from the committed results.


@cache
def committed() -> Evidence:
    """The results that the documentation is about."""
    return read_evidence(RESULTS)


@cache
def other_choices() -> dict[str, Evidence]:
    """Results with other choices, by the names of their folders."""
    return {folder.name: read_evidence(folder) for folder in OTHER_CHOICES}


def claims_table() -> str:
    """Every claim with its verdicts."""
    rows = [
        [
            str(claim.number),
            f"{claim.says} ({claim.where})",
            *(_decision(committed().verdicts(claim, tuned=tuned)) for tuned in (False, True)),
        ]
        for claim in CLAIMS
    ]
    return _left_table(["", "the paper says", "at its η", "each at its best η"], rows)


def _decision(verdicts: Sequence[Verdict]) -> str:
    word = together(verdicts)
    if word in ("not run yet", "it is about η itself"):
        return word
    worst = weakest(verdicts)
    return f"**{word}**: {effect_of(worst)}; {counted(worst.seeds, 'seed')}"


def bounds_table() -> str:
    """The columns of the report's table that say whether bounds hold."""
    columns = ("run", "proved", "measured / corrected", "claimed", "measured / printed")
    return _markdown(bound_section(committed()), (*columns, "NAS at the end"))


def steps_table() -> str:
    """How far methods step, and what that explains."""
    evidence = committed()
    return (
        f"{fill(found(step_rows(evidence)), 118)}\n\n{_markdown(step_section(evidence, Figure()))}"
    )


def choices_tables() -> str:
    """What becomes of claims with other choices, in words, and how well methods learn with them."""
    _, verdicts, areas = tables_of(variants_section(committed(), other_choices()))
    words = [[says, *map(word_of, cells)] for says, *cells in verdicts.rows]
    return "\n".join([_lines(verdicts.header, words), _lines(areas.header, areas.rows)])


def tables_of(section: Section) -> list[Table]:
    """All tables of a section, in order."""
    return [block for block in section.blocks if isinstance(block, Table)]


def word_of(cell: Text) -> str:
    """A verdict without its effect; what has no verdict as it is."""
    return next((one.word for one in cell if isinstance(one, VerdictBadge)), str(cell))


def _markdown(section: Section, columns: Sequence[str] = ()) -> str:
    """The only table of a section, or some of its columns."""
    [table] = tables_of(section)
    chosen = [table.header.index(name) for name in columns or table.header]
    header, *rows = [[row[index] for index in chosen] for row in (table.header, *table.rows)]
    return _lines(header, rows)


def _lines(header: Sequence[Text], rows: Sequence[Sequence[Text]]) -> str:
    lines = [f"| {' | '.join(map(str, row))} |" for row in (header, *rows)]
    return "\n".join([lines[0], f"|---|{'---:|' * (len(header) - 1)}", *lines[1:], ""])


def headline() -> str:
    """A method a line, and how many claims hold, for who reads only the first page."""
    header = [
        "method",
        "NAS at the end",
        "epochs until SUMO's NAS",
        "uploads",
        "exchanges",
        "seeds",
    ]
    fixed, tuned = (_count(tuned=tuned) for tuned in (False, True))
    counts = f"Of the claims, at the paper's η: {fixed}; with each method at its best η: {tuned}."
    return f"{_lines(header, [_method_row(name) for name in HEADLINE])}\n{fill(counts, 118)}\n"


def _method_row(name: str) -> list[str]:
    evidence = committed()
    runs = evidence.runs(name)
    scores = [
        with_interval(seed_interval(list(evidence.scores(name, measure).values())))
        for measure in ("final", "epochs")
    ]
    [[uploads, exchanges]] = {
        (result.totals["uploads"], result.totals["exchanges"]) for result in runs.values()
    }
    return [name, *scores, str(uploads), str(exchanges), str(len(runs))]


def _count(*, tuned: bool) -> str:
    """How many claims have which verdict; those that do not apply are not counted."""
    applied = [verdicts for one in CLAIMS if (verdicts := committed().verdicts(one, tuned=tuned))]
    words = Counter(map(together, applied))
    order = ("supported", "not supported", "undecided", "not run yet")
    return ", ".join(f"{words[word]} {word}" for word in order if words[word])


def files_page(_: str = "") -> str:
    """Every file of the package and what it is for: the first sentence of its docstring."""
    source = ROOT / "src" / "fmarl"
    parts = [
        "# Every file\n",
        "Generated from the first lines of the files by `python docs/generate.py`;\n"
        "a test fails when it is stale.\n",
    ]
    files = sorted(path.relative_to(source) for path in source.rglob("*.py"))
    for folder in dict.fromkeys(path.parent for path in files):
        rows = [
            [f"`{path.name}`", _purpose(source / path)] for path in files if path.parent == folder
        ]
        name = ".".join(["fmarl", *folder.parts])
        parts += [f"## `{name}`\n", _left_table(["file", "what it is for"], rows)]
    return "\n".join(parts)


def _purpose(path: Path) -> str:
    """The first sentence of a file's docstring."""
    return _cell(
        (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].split("\n")[0]
    )


PAGES: dict[str, Writer] = {
    "docs/equations.md": equations_page,
    "docs/files.md": files_page,
    "docs/reproduction.md": with_parts(
        claims=claims_table, choices=choices_tables, steps=steps_table, bounds=bounds_table
    ),
    "README.md": with_parts(headline=headline),
}
"""From a page to who writes it. (docs/peers.md has a command of its own: its results come from
another environment.)"""

if __name__ == "__main__":
    main()
