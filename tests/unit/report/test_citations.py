"""Every equation that is used is cited, executed and tested; docs/equations.md is the proof."""

import pytest
from docs.generate import covering, names_used_by_tests

from fmarl.report.citations import EQUATIONS, cite, collect_citations


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
