"""docs/paper-audit.md names a test for every finding, and each of them exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "paper-audit.md").read_text()
NAMED = re.findall(r"(tests/[\w/]+\.py)::(\w+)", PAGE)


@pytest.mark.parametrize(("path", "name"), sorted(set(NAMED)))
def test_every_test_named_in_the_audit_exists(path, name):
    assert f"def {name}(" in (ROOT / path).read_text()


@pytest.mark.parametrize("number", range(1, 14))
def test_the_audit_treats_every_error_and_names_its_test(number):
    section = re.search(rf"^### E{number} .*?(?=^##)", PAGE, flags=re.MULTILINE | re.DOTALL)

    assert section is not None
    assert re.search(rf"tests/property/test_paper_errors\.py::test_e{number}_", section[0])


def test_every_test_of_an_error_is_named_in_the_audit():
    path = "tests/property/test_paper_errors.py"
    written = re.findall(r"^def (test_\w+)\(", (ROOT / path).read_text(), flags=re.MULTILINE)

    assert {(path, name) for name in written} <= set(NAMED)
