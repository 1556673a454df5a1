"""Every equation that is used is cited, executed and tested; docs/equations.md is the proof."""

import ast
from pathlib import Path

import pytest

from fmarl.report.citations import EQUATIONS, Citation, cite, collect_citations

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "equations.md"


def names_used_by_tests() -> dict[str, set[str]]:
    """For every name that occurs in a test's body: the tests it occurs in."""
    used: dict[str, set[str]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        if file == Path(__file__):
            continue
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for name in _names(node):
                    used.setdefault(name, set()).add(f"{file.name}::{node.name}")
    return used


def _names(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node))
    plain = {part.id for part in parts if isinstance(part, ast.Name)}
    return plain | {part.attr for part in parts if isinstance(part, ast.Attribute)}


def covering(citation: Citation, used: dict[str, set[str]]) -> list[str]:
    """Tests that name the function; for a private one, tests of its module's public functions."""
    module, name = citation.name.rsplit(".", 1)
    if not name.startswith("_"):
        return sorted(used.get(name, ()))
    public = [other.name.rsplit(".", 1) for other in collect_citations()]
    siblings = [short for owner, short in public if owner == module and not short.startswith("_")]
    return sorted(set().union(*(used.get(short, set()) for short in siblings)))


def page(citations: list[Citation]) -> str:
    used = names_used_by_tests()
    rows = [_row(number, citations, used) for number in EQUATIONS]
    ours = [c for c in citations if not c.equations]
    lines = [
        "# Equations",
        "",
        "Which function executes which equation of the paper, and the tests that name it.",
        "Generated from the `Paper:` lines of the docstrings by",
        "`pytest tests/unit/report --update-golden`; a test fails when it is stale.",
        "",
        "| equation | what it is | function | tests |",
        "|---|---|---|---|",
        *[line for row in rows for line in row],
        "",
        "## From the paper's text and appendices, and ours",
        "",
        "| function | source | tests |",
        "|---|---|---|",
        *[f"| `{c.name}` | {_cell(c.paper)} | {_tests(c, used)} |" for c in ours],
        "",
        "## Where we differ",
        "",
        "| function | paper | here |",
        "|---|---|---|",
        *[
            f"| `{c.name}` | {_cell(c.paper)} | {_cell(c.differs)} |"
            for c in citations
            if c.differs
        ],
        "",
    ]
    return "\n".join(lines)


def _row(number: int, citations: list[Citation], used: dict[str, set[str]]) -> list[str]:
    executing = [c for c in citations if number in c.equations]
    if not executing:
        return [f"| ({number}) | {EQUATIONS[number]} | with the learners | – |"]
    return [
        f"| ({number}) | {EQUATIONS[number]} | `{c.name}` | {_tests(c, used)} |" for c in executing
    ]


def _tests(citation: Citation, used: dict[str, set[str]]) -> str:
    names = covering(citation, used)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"`{names[0]}`{more}" if names else "none"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def test_the_page_says_what_the_docstrings_and_tests_say(update_golden):
    text = page(collect_citations())
    if update_golden:
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "stale: run pytest tests/unit/report --update-golden"


def test_every_cited_function_is_named_by_a_test():
    used = names_used_by_tests()
    untested = [c.name for c in collect_citations() if not covering(c, used)]
    assert untested == []


def test_every_equation_of_the_theory_is_executed():
    executed = {number for citation in collect_citations() for number in citation.equations}
    assert executed == set(EQUATIONS)


def _cites_nonsense() -> None:
    """A function that cites an equation the paper does not have.

    Paper: Eq. (99).  E = mc²
    """


def _cites_badly() -> None:
    """A function whose citation can not be read.

    Paper: somewhere around the middle
    """


@pytest.mark.parametrize("function", [_cites_nonsense, _cites_badly])
def test_an_unknown_equation_is_refused(function):
    with pytest.raises(ValueError, match="cites"):
        cite(function)


def test_a_docstring_without_a_paper_line_is_no_citation():
    assert cite(test_every_equation_of_the_theory_is_executed) is None
