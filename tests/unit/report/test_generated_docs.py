"""What is generated in README and docs is what would be generated now."""

import sys

import pytest
from docs import generate


@pytest.mark.parametrize("page", generate.PAGES)
def test_a_page_says_what_code_tests_and_results_say(page: str):
    written = (generate.ROOT / page).read_text()
    assert written == generate.renewed(page), "stale: run python docs/generate.py"


def test_a_stale_part_is_named_and_renewed(tmp_path, monkeypatch):
    mark = "<!-- sum: written by python docs/generate.py -->\n"
    page = tmp_path / "page.md"
    page.write_text(f"By hand.\n{mark}1 + 1 = 3\n{mark}By hand too.\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "PAGES", {"page.md": generate.with_parts(sum=lambda: "2\n")})
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    with pytest.raises(SystemExit, match=r"stale: page\.md"):
        generate.main()
    monkeypatch.setattr(sys, "argv", ["generate.py"])
    generate.main()
    assert page.read_text() == f"By hand.\n{mark}2\n{mark}By hand too.\n"
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    generate.main()
