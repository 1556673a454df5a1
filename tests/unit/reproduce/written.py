"""Parts of pages that are written from the committed results, and must stay true to them."""

from pathlib import Path

ROOT = Path(__file__).parents[3]
README, REPRODUCTION = ROOT / "README.md", ROOT / "docs" / "reproduction.md"


def check_written(page: Path, name: str, text: str, *, update: bool) -> None:
    """Hold the part of a page between two marks of this name against `text`, or renew it."""
    mark = f"<!-- {name}: written by pytest tests/unit/reproduce --update-golden -->\n"
    before, written, after = page.read_text().split(mark)
    if update:
        page.write_text(mark.join([before, text, after]))
    else:
        assert written == text
